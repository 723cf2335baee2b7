from bifrost.encryption.dek import DekLimits, WritingDek
from bifrost.encryption.dek_cache import BYTES_IN_HAND, MESSAGES_IN_HAND, ReadingDeks, WritingDeks
from bifrost.encryption.dek_context import DekContext
from support.encryption.sealing import opening

ORDERS, OTHERS, THIRD = (DekContext("c", name) for name in ("orders", "others", "third"))


def writing(now_ms: int = 0, limits: DekLimits | None = None) -> WritingDek:
    return WritingDek(opening(), bytes(8), limits or DekLimits(max_age_ms=1_000), now_ms)


def test_a_dek_seals_for_its_kek_and_topic_until_it_expires() -> None:
    deks, dek = WritingDeks(), writing()
    deks.put("k", ORDERS, dek, 0)

    assert deks.get("k", ORDERS, 999) is dek
    assert deks.get("k", OTHERS, 0) is None
    assert deks.get("l", ORDERS, 0) is None
    assert deks.get("k", ORDERS, 1_000) is None
    assert len(deks) == 0


def test_a_dek_is_renewed_while_it_still_serves() -> None:
    deks = WritingDeks()
    deks.put("k", ORDERS, writing(), 0)

    assert [deks.is_due("k", ORDERS, now) for now in (0, 799, 800)] == [False, False, True]
    deks.postpone("k", ORDERS, 900)
    assert [deks.is_due("k", ORDERS, now) for now in (800, 900)] == [False, True]
    deks.put("k", ORDERS, newer := writing(900), 900)
    assert deks.get("k", ORDERS, 1_500) is newer
    assert not deks.is_due("k", ORDERS, 1_500)
    assert not deks.is_due("k", OTHERS, 1_500)
    deks.postpone("k", OTHERS, 900)
    assert deks.get("k", OTHERS, 900) is None


def test_a_dek_is_not_given_out_for_its_last_messages_and_bytes() -> None:
    for limits, messages, size in (
        (DekLimits(max_messages=MESSAGES_IN_HAND + 5), 5, 0),
        (DekLimits(max_bytes=BYTES_IN_HAND + 5), 1, 5),
    ):
        deks, dek = WritingDeks(), writing(limits=limits)
        deks.put("k", ORDERS, dek, 0)
        dek.take(messages, size)
        assert deks.get("k", ORDERS, 0) is dek
        dek.take(1, 1)
        assert deks.get("k", ORDERS, 0) is None


def test_topics_that_are_written_least_make_room() -> None:
    deks = WritingDeks(max_deks=2)
    for topic in (ORDERS, OTHERS):
        deks.put("k", topic, writing(), 0)
    assert deks.get("k", ORDERS, 0) is not None
    deks.put("k", THIRD, writing(), 0)

    assert len(deks) == 2
    assert deks.get("k", OTHERS, 0) is None
    assert deks.get("k", ORDERS, 0) is not None


def test_a_dek_opens_what_it_was_unwrapped_for_until_it_expires() -> None:
    deks, dek = ReadingDeks(max_age_ms=1_000), opening()
    deks.put(ORDERS, b"header", dek, 50)

    assert deks.get(ORDERS, b"header", 1_049) is dek
    assert deks.get(OTHERS, b"header", 50) is None
    assert deks.get(ORDERS, b"other", 50) is None
    assert deks.get(ORDERS, b"header", 1_050) is None
    assert len(deks) == 0


def test_what_a_kek_does_not_unwrap_is_remembered_for_a_while() -> None:
    deks = ReadingDeks()
    deks.put_unknown(ORDERS, b"header", 100)

    assert deks.get(ORDERS, b"header", 99) == "unknown"
    assert deks.get(ORDERS, b"header", 100) is None


def test_deks_that_are_used_least_make_room() -> None:
    deks = ReadingDeks(max_deks=2)
    deks.put(ORDERS, b"1", opening(), 0)
    deks.put(ORDERS, b"2", opening(), 0)
    assert deks.get(ORDERS, b"1", 0) is not None
    deks.put_unknown(ORDERS, b"3", 100)

    assert len(deks) == 2
    assert deks.get(ORDERS, b"2", 0) is None
    assert deks.get(ORDERS, b"1", 0) is not None

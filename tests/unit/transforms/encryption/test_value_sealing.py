from dataclasses import replace

import pytest

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.sealed_values import seal_values
from bifrost.encryption.sealing_key import SealingKey
from bifrost.encryption.topic_key import TopicKey
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.chain import transform_batch
from bifrost.transforms.encryption import placed_sealing
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal, KeyOfTopic
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.encryption.value_sealing import ValueSealing
from bifrost.transforms.record_transform import Buffer, Direction, Failure, Known, Needs, Rejected
from bifrost.wire.error_codes import ErrorCode
from support.encryption.sealing import WRAPPED
from support.records.record_columns import CODECS, batch_of, only_batch, plenty

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
RECORDS = [ColumnRecord(0, 0, b"key", b"secret"), ColumnRecord(1, 0, b"gone", None)]


def run(
    rules: SealRules, data: Buffer, direction: Direction, known: Known, partition: int = 3
) -> Buffer | Rejected | Needs:
    steps = [ValueSealing(rules).at(partition)]
    return transform_batch(only_batch(bytes(data)), steps, direction, known, plenty())


def known_of(rules: SealRules, deks: tuple[WritingDek, Dek, bytes]) -> Known:
    return {
        DekToSeal(rules.kek, rules.context): deks[0],
        DekToOpen(rules.kek, rules.context, deks[2]): deks[1],
    }


def records_of(data: object) -> list[ColumnRecord]:
    assert isinstance(data, bytes | memoryview)
    return read_columns(only_batch(bytes(data)), plenty()).records()


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_values_come_back_and_keys_stay(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes], codec: int
) -> None:
    known = known_of(rules, deks)
    made = run(rules, batch_of(RECORDS, codec=codec), PRODUCE, known)

    found = records_of(made)
    assert [one.key for one in found] == [b"key", b"gone"]
    assert found[1].value is None
    assert b"secret" not in (found[0].value or b"")
    assert isinstance(made, bytes | memoryview)
    assert records_of(run(rules, made, FETCH, known)) == RECORDS


def test_keys_are_asked_for_and_a_place_is_bound(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    known = known_of(rules, deks)
    made = run(rules, batch_of(RECORDS), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)

    assert run(rules, batch_of(RECORDS), PRODUCE, {}) == Needs(
        frozenset({DekToSeal(rules.kek, rules.context)})
    )
    assert run(rules, made, FETCH, {}) == Needs(frozenset({DekToOpen(rules.kek, rules.context, deks[2])}))
    assert isinstance(run(rules, made, FETCH, known, 4), Rejected)


def test_plaintext_is_an_error_unless_it_is_old(rules: SealRules) -> None:
    refused = run(rules, batch_of(RECORDS), FETCH, {})
    passed = run(replace(rules, plaintext_before_ms=2**62), batch_of(RECORDS), FETCH, {})

    assert isinstance(refused, Rejected)
    assert refused.error_code == ErrorCode.CORRUPT_MESSAGE
    assert {one.headers for one in records_of(passed)} == {((b"bifrost.plaintext", b"true"),)}


def test_plaintext_among_sealed_values_is_an_error_however_old(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    sealed = seal_values(Columns.of(RECORDS[:1]), rules.place(3).binding, deks[0], plenty()).records()
    mixed = batch_of([*sealed, ColumnRecord(1, 0, b"key", b"plain")])

    outcome = run(replace(rules, plaintext_before_ms=2**62), mixed, FETCH, known_of(rules, deks))

    assert isinstance(outcome, Rejected)


def test_tombstones_alone_need_no_key(rules: SealRules) -> None:
    data = batch_of(RECORDS[1:])

    assert run(rules, data, FETCH, {}) == data


def test_a_missing_key_is_an_error_or_skipped(rules: SealRules, deks: tuple[WritingDek, Dek, bytes]) -> None:
    known = known_of(rules, deks)
    failed = dict.fromkeys(known, Failure("gone", is_retriable=False))
    made = run(rules, batch_of(RECORDS, codec=4), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)

    assert isinstance(run(rules, batch_of(RECORDS), PRODUCE, failed), Rejected)
    assert isinstance(run(rules, made, FETCH, failed), Rejected)
    assert records_of(run(replace(rules, skips_missing_keys=True), made, FETCH, failed)) == []


def test_the_sealing_of_a_partition_is_made_once(rules: SealRules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed_sealing, "MAX_PARTITIONS", 2)
    sealing = ValueSealing(rules)

    assert sealing.at(0) is sealing.at(0)
    for partition in range(9):
        assert sealing.at(partition).name == "sealed"
    assert len(sealing._placed) <= 2


TOPIC_KEY = TopicKey(bytes(range(64)))
SEALING = SealingKey(bytes(8), WRAPPED)


@pytest.fixture
def with_keys(rules: SealRules) -> SealRules:
    return replace(rules, sealing_key=SEALING)


def key_need(rules: SealRules) -> KeyOfTopic:
    return KeyOfTopic(rules.kek, rules.context, SEALING)


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_keys_come_back_and_equal_ones_are_sealed_alike(
    with_keys: SealRules, deks: tuple[WritingDek, Dek, bytes], codec: int
) -> None:
    known = {**known_of(with_keys, deks), key_need(with_keys): TOPIC_KEY}
    records = [*RECORDS, ColumnRecord(2, 0, b"key", b"later"), ColumnRecord(3, 0, None, b"no key")]

    made = run(with_keys, batch_of(records, codec=codec), PRODUCE, known)

    found = records_of(made)
    assert found[0].key == found[2].key != found[1].key
    assert b"key" not in (found[0].key or b"")
    assert (found[1].value, found[3].key) == (None, None)
    assert isinstance(made, bytes | memoryview)
    assert records_of(run(with_keys, made, FETCH, known)) == records
    elsewhere = records_of(run(with_keys, batch_of(records), PRODUCE, known, 4))
    assert elsewhere[0].key != found[0].key, "a key is bound to its partition"
    assert isinstance(run(with_keys, made, FETCH, known, 4), Rejected)


def test_both_keys_are_asked_for_at_once(with_keys: SealRules, deks: tuple[WritingDek, Dek, bytes]) -> None:
    known = {**known_of(with_keys, deks), key_need(with_keys): TOPIC_KEY}
    made = run(with_keys, batch_of(RECORDS), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)
    to_seal, to_open, of_topic = (
        DekToSeal(with_keys.kek, with_keys.context),
        DekToOpen(with_keys.kek, with_keys.context, deks[2]),
        key_need(with_keys),
    )

    assert run(with_keys, batch_of(RECORDS), PRODUCE, {}) == Needs(frozenset({to_seal, of_topic}))
    assert run(with_keys, batch_of(RECORDS), PRODUCE, {to_seal: deks[0]}) == Needs(frozenset({of_topic}))
    assert run(with_keys, made, FETCH, {}) == Needs(frozenset({to_open, of_topic}))
    assert run(with_keys, made, FETCH, {of_topic: TOPIC_KEY}) == Needs(frozenset({to_open}))


def test_keys_that_are_not_sealed_are_an_error_unless_all_is_old_plaintext(
    with_keys: SealRules, rules: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    known = {**known_of(with_keys, deks), key_need(with_keys): TOPIC_KEY}
    old = replace(with_keys, plaintext_before_ms=2**62)
    readable = run(rules, batch_of(RECORDS), PRODUCE, known)
    assert isinstance(readable, bytes | memoryview)
    tombstone = batch_of(RECORDS[1:])

    for wrong in (readable, batch_of(RECORDS), tombstone):
        refused = run(with_keys, wrong, FETCH, known)
        assert isinstance(refused, Rejected)
        assert refused.error_code == ErrorCode.CORRUPT_MESSAGE
    assert isinstance(run(old, readable, FETCH, known), Rejected), "values are sealed, so keys have to be"
    assert [one.key for one in records_of(run(old, batch_of(RECORDS), FETCH, known))] == [b"key", b"gone"]
    assert records_of(run(old, tombstone, FETCH, known)) == RECORDS[1:]


def test_a_tombstone_deletes_the_key_that_was_sealed(
    with_keys: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    known = {**known_of(with_keys, deks), key_need(with_keys): TOPIC_KEY}
    written = records_of(run(with_keys, batch_of([ColumnRecord(0, 0, b"a", b"1")]), PRODUCE, known))
    deleted = run(with_keys, batch_of([ColumnRecord(0, 0, b"a", None)]), PRODUCE, known)

    [found] = records_of(deleted)
    assert (found.key, found.value) == (written[0].key, None)
    assert isinstance(deleted, bytes | memoryview)
    assert records_of(run(with_keys, deleted, FETCH, known)) == [ColumnRecord(0, 0, b"a", None)]


def test_another_sealing_key_or_none_is_an_error_or_skipped(
    with_keys: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    known = {**known_of(with_keys, deks), key_need(with_keys): TOPIC_KEY}
    made = run(with_keys, batch_of(RECORDS, codec=4), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)
    other = {**known, key_need(with_keys): TopicKey(bytes(64))}
    gone = {**known, key_need(with_keys): Failure("gone", is_retriable=False)}
    away = {**known, key_need(with_keys): Failure("away", is_retriable=True)}

    assert isinstance(run(with_keys, made, FETCH, other), Rejected)
    refused = run(with_keys, batch_of(RECORDS), PRODUCE, gone)
    assert isinstance(refused, Rejected)
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    late = run(with_keys, batch_of(RECORDS), PRODUCE, away)
    assert isinstance(late, Rejected)
    assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert isinstance(run(with_keys, made, FETCH, gone), Rejected)
    assert records_of(run(replace(with_keys, skips_missing_keys=True), made, FETCH, gone)) == []

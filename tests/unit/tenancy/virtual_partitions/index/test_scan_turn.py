import pytest

from bifrost.tenancy.virtual_partitions.index.index_entry import UnreadableEntry
from bifrost.tenancy.virtual_partitions.index.scan_turn import (
    EVERY_MS,
    GONE_MS,
    ScanTurn,
    read_value,
    to_value,
)

NOW_MS = 1_000_000


def test_a_record_names_the_gateway_that_reads() -> None:
    assert read_value(to_value("host/one")) == "host/one"
    assert read_value(to_value("")) == ""


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[]",
        b"{}",
        b'{"version":2,"member":"x"}',
        b'{"version":1,"member":3}',
        to_value("x" * 201),
        b"[" * 9999,
    ],
)
def test_any_other_value_is_refused(value: bytes | None) -> None:
    with pytest.raises(UnreadableEntry):
        read_value(value)


def test_the_gateway_reads_that_has_written_last() -> None:
    one, other = ScanTurn("one"), ScanTurn("other")
    assert one.is_to_write(NOW_MS)
    assert other.is_to_write(NOW_MS)
    for turn in (one, other):
        turn.written(NOW_MS)
        for member in ("one", "other"):
            turn.hear(member, NOW_MS)

    assert (one.has_it(NOW_MS), other.has_it(NOW_MS)) == (False, True)
    assert not one.is_to_write(NOW_MS + EVERY_MS)
    assert not other.is_to_write(NOW_MS + EVERY_MS - 1)
    assert other.is_to_write(NOW_MS + EVERY_MS)


def test_another_one_goes_on_when_nothing_is_heard_any_more() -> None:
    one = ScanTurn("one")
    one.hear("other", NOW_MS)

    assert not one.is_to_write(NOW_MS + GONE_MS - 1)
    assert one.is_to_write(NOW_MS + GONE_MS)
    assert not one.has_it(NOW_MS + GONE_MS)


def test_another_one_goes_on_at_once_when_it_was_told_that_none_reads() -> None:
    one = ScanTurn("one")
    one.hear("other", NOW_MS)
    one.hear("", NOW_MS + 1)

    assert one.is_to_write(NOW_MS + 1)


def test_a_gateway_that_hears_nothing_of_itself_does_not_read() -> None:
    one = ScanTurn("one")
    one.written(NOW_MS)
    assert not one.has_it(NOW_MS)
    one.hear("one", NOW_MS)

    assert one.has_it(NOW_MS + GONE_MS - 1)
    assert not one.has_it(NOW_MS + GONE_MS)

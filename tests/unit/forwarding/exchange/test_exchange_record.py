"""Records of the exchange are read as they were written, and what is none of this version is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.forwarding.exchange.exchange_record import (
    MAX_BUDGETS,
    ExchangeRecord,
    Stake,
    UnreadableRecord,
)
from bifrost.forwarding.exchange.shares import WHOLE

parts = st.integers(0, WHOLE)


@given(
    member=st.integers(0, 2**64 - 1),
    round_=st.integers(0, 2**64 - 1),
    stakes=st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.builds(Stake, parts, parts), max_size=20),
    leaves=st.booleans(),
)
def test_a_record_is_read_as_it_was_written(
    member: int, round_: int, stakes: dict[int, Stake], leaves: bool
) -> None:
    record = ExchangeRecord(member, round_, stakes, leaves)

    assert ExchangeRecord.from_bytes(record.to_bytes()) == record


def test_more_than_the_whole_is_read_as_the_whole() -> None:
    content = ExchangeRecord(1, 2, {3: Stake(65_535, 65_535)}).to_bytes()

    assert ExchangeRecord.from_bytes(content).stakes == {3: Stake(WHOLE, WHOLE)}


WRITTEN = ExchangeRecord(1, 2, {3: Stake(4, 5)}).to_bytes()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "nothing"),
        (b"\x02" + WRITTEN[1:], "version 2"),
        (WRITTEN[:5], "cut off"),
        (WRITTEN[:-1], "head"),
        (WRITTEN + b"x", "head"),
        (WRITTEN[:1] + b"\x02" + WRITTEN[2:], "head"),
    ],
)
def test_what_is_no_record_of_this_version_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(UnreadableRecord, match=why):
        ExchangeRecord.from_bytes(content)


def test_a_record_has_a_bound() -> None:
    most = dict.fromkeys(range(MAX_BUDGETS), Stake(1, 1))

    assert len(ExchangeRecord(1, 2, most).to_bytes()) < 16_384
    with pytest.raises(ValueError, match="at most"):
        ExchangeRecord(1, 2, most | {-1: Stake(1, 1)}).to_bytes()

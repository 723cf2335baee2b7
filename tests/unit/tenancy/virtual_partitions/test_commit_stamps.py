import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.commit_stamps import (
    STAMP_LENGTH,
    CommitStamp,
    read_stamp,
    stamped,
    without_stamp,
)


@given(st.text(), st.integers(0, 0xFFFF_FFFF), st.booleans())
def test_a_stamp_comes_back_and_so_does_the_client_s_own(metadata: str, at_s: int, is_of_txn: bool) -> None:
    stamp = CommitStamp(at_s, is_of_txn)
    stored = stamped(metadata, stamp)

    assert len(stored) == STAMP_LENGTH + len(metadata)
    assert read_stamp(stored) == stamp
    assert without_stamp(stored) == metadata


def test_metadata_may_be_none() -> None:
    assert without_stamp(stamped(None, CommitStamp(1, is_transactional=False))) == ""
    assert (read_stamp(None), without_stamp(None)) == (None, None)


@pytest.mark.parametrize(
    "metadata", ["", "note", "bifrost:x00000000:", "bifrost:t0000:", "a bifrost:t00000000:"]
)
def test_what_looks_otherwise_is_the_client_s_own(metadata: str) -> None:
    assert read_stamp(metadata) is None
    assert without_stamp(metadata) == metadata


def test_of_two_stamps_the_first_is_the_gateway_s() -> None:
    own = stamped("", CommitStamp(5, is_transactional=True))

    assert without_stamp(stamped(own, CommitStamp(6, is_transactional=False))) == own
    assert read_stamp(stamped(own, CommitStamp(6, is_transactional=False))) == CommitStamp(6, False)

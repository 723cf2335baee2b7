import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.index import index_entry
from bifrost.tenancy.virtual_partitions.index.index_entry import (
    IndexEntry,
    UnreadableEntry,
    key_of,
    read_key,
    read_value,
    to_value,
)
from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark, LogPiece
from bifrost.tenancy.virtual_partitions.partition_end import STEP

ENTRY = IndexEntry(
    bytes(range(16)), 5, 40_001, BatchMark(39_990, 3, 305_419_896), {0: 40_001, 2: 6}, {2: 3 * STEP}
)
VALUE = json.loads(to_value(ENTRY))


def changed(**fields: Any) -> bytes:
    return json.dumps(VALUE | fields).encode()


def test_a_record_has_an_entry_in_this_form() -> None:
    assert to_value(ENTRY) == (
        b'{"version":1,"topic_id":"000102030405060708090a0b0c0d0e0f","from":5,"to":40001,'
        b'"last_batch":{"offset":39990,"leader_epoch":3,"crc":305419896},'
        b'"ends":{"0":40001,"2":6},"moved":{"2":24576}}'
    )
    assert read_value(to_value(ENTRY)) == ENTRY


def test_a_key_names_a_physical_partition() -> None:
    place = b"orders", 12

    assert key_of(place) == b"partition:orders:12"
    assert read_key(key_of(place)) == place
    assert read_key(b"scanner") is read_key(None) is None


@pytest.mark.parametrize(
    "key", [b"partition:", b"partition:x", b"partition::1", b"partition:x:-1", b"partition:x:9999999999",
            b"partition:x:99999999999", b"partition:x:1.", b"partition:" + b"x" * 250 + b":1"]
)  # fmt: skip
def test_a_key_that_names_none_is_refused(key: bytes) -> None:
    with pytest.raises(UnreadableEntry):
        read_key(key)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 60_000,
        b" " * (index_entry.MAX_BYTES + 1),
        changed(version=2),
        changed(version=True),
        changed(more=1),
        json.dumps({key: one for key, one in VALUE.items() if key != "moved"}).encode(),
        changed(topic_id="00"),
        changed(topic_id="zz" * 16),
        changed(topic_id=None),
        changed(**{"from": -1}),
        changed(**{"from": 40_001}),
        changed(to=0),
        changed(to=2**63),
        changed(to="40001"),
        changed(to=40_001.0),
        changed(last_batch=None),
        changed(last_batch={"offset": 0}),
        changed(last_batch={"offset": 40_001, "leader_epoch": 0, "crc": 0}),
        changed(last_batch={"offset": 0, "leader_epoch": -2, "crc": 0}),
        changed(last_batch={"offset": 0, "leader_epoch": 0, "crc": 2**32}),
        changed(ends=[]),
        changed(ends={"512": 6}),
        changed(ends={"-1": 6}),
        changed(ends={"x": 6}),
        changed(ends={"٣": 6}),
        changed(ends={"0": 5}),
        changed(ends={"0": 40_002}),
        changed(ends={"0": True}),
        changed(ends={str(group): 6 for group in range(513)}),
        changed(moved={"2": STEP + 1}),
        changed(moved={"2": 0}),
        changed(moved={"512": STEP}),
    ],
)
def test_a_value_that_no_gateway_writes_is_refused(value: bytes) -> None:
    with pytest.raises(UnreadableEntry):
        read_value(value)


def test_the_largest_entry_can_be_read() -> None:
    last = 2**63 - 1
    groups = dict.fromkeys(range(512), last)
    entry = ENTRY._replace(end=last, ends=groups, moved=dict.fromkeys(range(512), last // STEP * STEP))

    assert len(to_value(entry)) < index_entry.MAX_BYTES
    assert read_value(to_value(entry)) == entry


@given(st.binary(max_size=200))
def test_any_bytes_are_an_entry_or_refused(value: bytes) -> None:
    outcomes = []
    for read in (read_value, read_key):
        try:
            outcomes.append(read(value))
        except UnreadableEntry:
            outcomes.append(None)

    assert len(outcomes) == 2, "no other exception is raised"


def test_what_follows_is_added() -> None:
    piece = LogPiece(BatchMark(39_990, 3, 1), BatchMark(40_005, 4, 7), 40_010, {2: 40_010, 3: 40_006})

    assert ENTRY.extended(piece) == IndexEntry(
        ENTRY.topic_id, 5, 40_010, BatchMark(40_005, 4, 7), {0: 40_001, 2: 40_010, 3: 40_006}, ENTRY.moved
    )

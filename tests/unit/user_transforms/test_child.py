"""The program itself, without a process: one batch. Processes are in tests/unit/gateway/sources/transforming."""

from typing import Any

import pytest

from bifrost.confined.frames import LENGTHS, Frame, pack, read_head, read_lengths
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.user.column_parts import columns_from
from bifrost.transforms.user.column_parts import parts_from as parts_of_columns
from bifrost.user_transforms.arrow_records import WrongBatch
from bifrost.user_transforms.child import run
from bifrost.user_transforms.context import Context

HEAD = {
    "tenant": "acme",
    "topic": "orders",
    "direction": "fetch",
    "base_offset": 7,
    "base_timestamp_ms": 1_000,
}
RECORDS = [ColumnRecord(0, 1, b"k", b"a"), ColumnRecord(1, 2, None, None, ((b"h", b"v"),))]


def frame(head: dict[str, Any], parts: Any) -> Frame:
    data = b"".join(bytes(piece) for piece in pack(head, parts))
    at = LENGTHS.size + read_lengths(data[: LENGTHS.size], 1 << 30)[0]
    return Frame(read_head(data[LENGTHS.size : at]), memoryview(data)[at:])


def test_a_batch_is_run_with_what_is_known_about_it() -> None:
    seen: list[Any] = []

    def function(batch: Any, context: Context) -> Any:
        seen.append((context, batch.column("timestamp").cast("int64").to_pylist()))
        return batch.slice(1)

    parts = run(function, frame(HEAD, parts_of_columns(Columns.of(RECORDS))))

    assert seen == [(Context("acme", "orders", "fetch", 7), [1_001, 1_002])]
    assert columns_from(frame({}, parts)).records() == RECORDS[1:]


def test_what_it_may_not_return_is_refused() -> None:
    given = frame(HEAD | {"direction": "produce"}, parts_of_columns(Columns.of(RECORDS)))

    with pytest.raises(WrongBatch):
        run(lambda batch, _context: batch.slice(1), given)

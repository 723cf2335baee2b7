from typing import Any

import pytest

from bifrost.confined.frames import LENGTHS, BrokenFrame, Frame, pack, read_head
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.user.column_parts import columns_from, parts_from
from bifrost.user_transforms.parts import PARTS

RECORDS = [
    ColumnRecord(0, 5, b"k", None, ((b"h", None), (b"g", b"x"))),
    ColumnRecord(1, 7, None, b"value"),
]


def sent(head: dict[str, Any], parts: Any) -> Frame:
    """Return a message as the other side gets it."""
    data = b"".join(pack(head, parts))
    size = LENGTHS.unpack_from(data)[0]
    return Frame(read_head(data[LENGTHS.size :][:size]), memoryview(data)[LENGTHS.size + size :])


def test_columns_come_out_of_their_parts_as_they_went_in() -> None:
    parts = parts_from(Columns.of(RECORDS))

    assert len(parts) == len(PARTS)
    assert columns_from(sent({}, parts)).records() == RECORDS


def test_a_part_that_has_to_be_there_is_missed() -> None:
    parts = [*parts_from(Columns.of(RECORDS))]
    parts[PARTS.index("header_starts")] = None

    with pytest.raises(BrokenFrame):
        columns_from(sent({}, parts))

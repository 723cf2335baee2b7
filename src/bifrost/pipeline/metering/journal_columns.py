"""The journal's records as Arrow columns: what `journal_records` does with Spark, for rows that are certainly valid.

A page of rows is parsed at a time (`journal_parser`) and checked by columns. A row that is not valid beyond doubt is
`odd`: it is left to `journal_records`, which alone decides what is wrong with it, if anything is. So this module needs
no reasons, and may be as narrow as it is fast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, MapType, StringType, StructType

from bifrost.pipeline.metering.journal_parser import (
    BOOLEAN,
    INTEGER,
    LIST,
    LONG,
    MAP,
    STRING,
    STRUCT,
    JournalParser,
)
from bifrost.pipeline.metering.journal_records import EARLIEST_MS, KINDS, KNOWN_VERSION, LATEST_MS, counters
from bifrost.pipeline.metering.metered_tables import KEYS, head_columns, journal_schema

if TYPE_CHECKING:
    from bifrost.pipeline.metering.journal_parser import Field, Node

PAGE_ROWS = 65_536
"""Rows that are parsed before they are written: some 40 MB of columns."""
MAX_COUNTER = 1 << 42
"""A larger counter is odd: 4 TiB in an interval. So the sums of a million rows fit into 64 bits, unchecked."""
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OF_A_TENANT = ("usage", "snapshot")
_SIZES = ("snapshot.replica_bytes", "snapshot.bytes", "snapshot.partition_count")
_WIDTHS = {STRING: np.int32, LONG: np.int64, INTEGER: np.int32, LIST: np.int32, MAP: np.int32}

Booleans = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@cache
def parsed_fields() -> tuple[Field, ...]:
    """Return the journal's schema as the parser takes it."""
    return tuple(_field(one.name, one.dataType) for one in journal_schema())


def _field(name: str, kind: DataType) -> Field:
    if isinstance(kind, StructType):
        return name, STRUCT, tuple(_field(one.name, one.dataType) for one in kind)
    if isinstance(kind, ArrayType):
        return name, LIST, (_field("element", kind.elementType),)
    if isinstance(kind, MapType):
        return name, MAP, (_field("key", kind.keyType), _field("value", kind.valueType))
    plain = {StringType: STRING, LongType: LONG, BooleanType: BOOLEAN}
    return name, plain.get(type(kind), INTEGER), ()


@dataclass(frozen=True)
class Page:
    """Some rows of the journal."""

    odd: Booleans
    """Rows that are for Spark."""
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """For each kind that occurs the rows of its table, without `is_late`; strings as dictionaries."""


def parse_rows(parser: JournalParser, values: pa.Array, keys: pa.Array, begin: int, end: int) -> None:
    """Parse rows of a batch of Spark's Kafka source."""
    begins = [values.offset + begin, keys.offset + begin]
    if begins[0] != begins[1]:
        keys = pa.concat_arrays([pa.nulls(values.offset, keys.type), keys])
    parser.parse(values.buffers()[1:], keys.buffers()[1:], begins[0], begins[0] + end - begin)


class Columns:
    """The columns of a parsed page, by their names, with dots between."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self.number: dict[str, int] = {}
        self._name(0, "")

    def _name(self, at: int, prefix: str) -> None:
        for child in self._nodes[at][2]:
            name = prefix + self._nodes[child][0]
            self.number[name] = child
            if self._nodes[child][1] == STRUCT:
                self._name(child, f"{name}.")

    def is_there(self, name: str) -> Booleans:
        """Return for each row whether it has a value."""
        return np.frombuffer(self._nodes[self.number[name]][6], np.bool_)

    def numbers(self, name: str) -> NDArray[Any]:
        """Return the numbers, or the codes of the strings; 0 where there is none."""
        _name, kind, _children, _size, _count, values, *_rest = self._nodes[self.number[name]]
        return np.frombuffer(values, _WIDTHS[kind])

    def count(self, name: str) -> int:
        """Return the number of rows that have a value."""
        return self._nodes[self.number[name]][4]

    def words(self, name: str) -> list[str]:
        """Return the different strings, by their codes."""
        return [str(one) for one in self._words(self.number[name]).to_pylist()]

    def array(self, name: str) -> pa.Array:
        """Return an Arrow array; strings are a dictionary."""
        return self._array(self.number[name], is_plain=False)

    def _words(self, at: int) -> pa.Array:
        *_rest, ends, text = self._nodes[at]
        offsets = pa.py_buffer(b"\0\0\0\0" + ends)
        return pa.Array.from_buffers(pa.string(), len(ends) // 4, [None, offsets, pa.py_buffer(text)])

    def _array(self, at: int, *, is_plain: bool) -> pa.Array:
        _name, kind, children, size, count, values, valid, *_rest = self._nodes[at]
        bits = None if count == size else pa.py_buffer(_packed(valid))
        if kind == STRING:
            codes = pa.Array.from_buffers(pa.int32(), size, [bits, pa.py_buffer(values)])
            words = pa.DictionaryArray.from_arrays(codes, self._words(at))
            return words.dictionary_decode() if is_plain else words
        if kind == BOOLEAN:
            return pa.Array.from_buffers(pa.bool_(), size, [bits, pa.py_buffer(_packed(values))])
        if kind in (LONG, INTEGER):
            number = pa.int64() if kind == LONG else pa.int32()
            return pa.Array.from_buffers(number, size, [bits, pa.py_buffer(values)])
        inner = [self._array(child, is_plain=True) for child in children]
        if kind == STRUCT:
            fields = [self._nodes[child][0] for child in children]
            types = pa.struct([(name, one.type) for name, one in zip(fields, inner, strict=True)])
            return pa.Array.from_buffers(types, size, [bits], children=inner)
        ends = np.zeros(size + 1, np.int32)
        np.cumsum(np.frombuffer(values, np.int32), out=ends[1:])
        offsets = pa.py_buffer(ends)
        if kind == LIST:
            return pa.Array.from_buffers(pa.list_(inner[0].type), size, [bits, offsets], children=[inner[0]])
        # In a row that is odd a key may be missing; no map of Arrow's may be so.
        inner[0] = pc.fill_null(inner[0], "")
        key, value = pa.field("key", inner[0].type, nullable=False), pa.field("value", inner[1].type)
        pairs = pa.StructArray.from_arrays(inner, fields=[key, value])
        return pa.Array.from_buffers(
            pa.map_(inner[0].type, inner[1].type), size, [bits, offsets], children=[pairs]
        )


def _packed(flags: bytes) -> bytes:
    return np.packbits(np.frombuffer(flags, np.uint8), bitorder="little").tobytes()


def take_page(parser: JournalParser, has_key: Booleans) -> Page:
    """Return the rows that were parsed, and begin a new page.

    Args:
        parser: has parsed them.
        has_key: whether the record of each row has a key.
    """
    odd, nodes = parser.page()
    columns = Columns(nodes)
    kinds = _kinds(columns)
    sound = ~np.frombuffer(odd, np.bool_) & _sound(columns, kinds)
    sound &= columns.is_there("tenant") | ~has_key
    tables = {kind: _table(columns, kind, sound & of_kind) for kind, of_kind in kinds.items()}
    return Page(~sound, {kind: table for kind, table in tables.items() if table.num_rows})


def _kinds(columns: Columns) -> dict[str, Booleans]:
    words, codes, is_there = columns.words("kind"), columns.numbers("kind"), columns.is_there("kind")
    return {kind: is_there & (codes == words.index(kind)) for kind in KINDS if kind in words}


def _sound(columns: Columns, kinds: dict[str, Booleans]) -> Booleans:
    """Return for each row whether it is valid, as `journal_records` checks it."""
    start, end = columns.numbers("interval_start_ms"), columns.numbers("interval_end_ms")
    version = columns.numbers("schema_version")
    sound: Booleans = columns.is_there("schema_version") & (version >= 1) & (version <= KNOWN_VERSION)
    for name in (*KEYS, "interval_start_ms", "interval_end_ms"):
        sound &= columns.is_there(name)
    sound &= (columns.numbers("epoch") >= 0) & (columns.numbers("sequence") >= 0)
    sound &= (start >= EARLIEST_MS) & (start <= end) & (end <= LATEST_MS)
    is_of_a_kind = np.zeros_like(sound)
    for kind, of_kind in kinds.items():
        is_complete = of_kind & columns.is_there(kind)
        is_of_a_kind |= is_complete & columns.is_there("tenant") if kind in _OF_A_TENANT else is_complete
    sound &= is_of_a_kind
    are_names = [_TENANT.fullmatch(one) is not None for one in columns.words("tenant")]
    if not all(are_names):
        sound &= ~columns.is_there("tenant") | np.array(are_names)[columns.numbers("tenant")]
    for name in (*(f"usage.{one}" for one in counters()), *_SIZES):
        if columns.count(name):
            numbers = columns.numbers(name)
            if numbers.min() < 0 or (name.startswith("usage") and numbers.max() >= MAX_COUNTER):
                sound &= (numbers >= 0) & (numbers < MAX_COUNTER)
    return sound


def _table(columns: Columns, kind: str, chosen: Booleans) -> pa.Table:
    """Return the chosen rows as rows of their kind's table."""
    start, end = columns.numbers("interval_start_ms"), columns.numbers("interval_end_ms")
    # The end is not part of an interval: see `journal_records.read_records`.
    hour = (end - (start != end)) // HOUR_MS * HOUR_MS
    arrays = {"hour_ms": pa.array(hour)}
    arrays |= {one.name: columns.array(one.name) for one in head_columns() if one.name in columns.number}
    inner = journal_schema()[kind].dataType
    assert isinstance(inner, StructType)
    arrays |= {one.name: columns.array(f"{kind}.{one.name}") for one in inner}
    table = pa.table(arrays)
    return table if chosen.all() else table.filter(pa.array(chosen))

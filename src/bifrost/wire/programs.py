"""Compiles schemas for the engine: into programs (rewrite), layouts (decode, encode) and peeks.

Compiled once per message and version and kept; the op format is drawn in program.pyx. Neighbouring fields
of fixed size become one op, an array of fixed-size elements is one op too, and the smallest size of every
array's element is worked out here, so that the engine can check a count before it uses it.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from bifrost.wire.codec import Layout
from bifrost.wire.message import Struct, message_class
from bifrost.wire.program import (
    SLOT_ADDRESS,
    SLOT_DECODE,
    SLOT_PARTITION,
    SLOT_USUAL,
    SLOT_WAY,
    Peek,
    Program,
    Usually,
)
from bifrost.wire.reader import Flag, Kind
from bifrost.wire.schema import Field, FieldType, MessageSchema, message_schema

FIXED_SIZES = {
    FieldType.BOOL: 1,
    FieldType.INT8: 1,
    FieldType.INT16: 2,
    FieldType.UINT16: 2,
    FieldType.INT32: 4,
    FieldType.UINT32: 4,
    FieldType.INT64: 8,
    FieldType.FLOAT64: 8,
    FieldType.UUID: 16,
}
"""Bytes of the types of one size."""
_LOOK_UPS = frozenset({*range(1, 10), 11})
"""The engine's slots with a table of names; only strings and UUIDs can have one."""
IF_USUAL = 0x100
"""Added to a look-up slot: a string that is null, or a UUID that is not zero, has to be decoded."""
_USUAL = frozenset({FieldType.INT16, FieldType.INT32})
"""Numbers that can be compared with their default."""

_OF_RECORDS: Mapping[FieldType | None, int] = {FieldType.INT32: SLOT_PARTITION, FieldType.RECORDS: SLOT_WAY}
"""The slots of records and of the partition that they are for, each with the one type that may have it."""

_CODE_BEFORE = 250
"""Slots of a CODE, which say where an error code stands, are below this: larger ones have another meaning."""

_Op = tuple[int, int, int, int, int]


def compile_program(name: str, version: int, slots: Mapping[str, int]) -> Program:
    """Compile what `rewrite` does with the body of a message.

    Args:
        name: Kafka's name of the message.
        version: one that the schema has.
        slots: dotted path of Kafka's field names (`Topics.Topic`) to the engine's slot: 1 to 9 or 11 for strings
            and UUIDs and arrays of them, SLOT_DECODE also for bytes, records, arrays, nullable structs and
            whatever is tagged, SLOT_USUAL for int16, int32 and arrays, SLOT_ADDRESS for a host between its
            broker's ID and port; IF_USUAL may be added to those with a table. SLOT_PARTITION is for an int32,
            SLOT_WAY for records. A field that is not named is neutral; one that this version lacks is skipped.
    Raises:
        ValueError: the message has no such version, a path is no field of it, or a field cannot have its
            slot.
    """
    return _compile_program(name, version, tuple(sorted(slots.items())))


@cache
def _compile_program(name: str, version: int, slots: tuple[tuple[str, int], ...]) -> Program:
    schema = _schema(name, version)
    unknown = {path for path, _ in slots} - _paths(schema.fields, "")
    if unknown:
        raise ValueError(f"{name} has no field {min(unknown)}")
    writer = ProgramWriter(version, schema.is_flexible(version), dict(slots), notes_codes=True)
    writer.struct(schema.fields, "")
    return writer.program()


@cache
def compile_layout(name: str, version: int) -> Layout:
    """Compile how `decode` and `encode` read and write a message at a version.

    Raises:
        ValueError: the message has no such version.
    """
    schema = _schema(name, version)
    return _layout(
        message_class(name), message_class(name), schema.fields, version, schema.is_flexible(version)
    )


def compile_peek(name: str, version: int, fields: Sequence[str] | Mapping[str, Usually]) -> Peek:
    """Compile the reading of numbers and bools near the front of a message.

    Args:
        name: Kafka's name of the message.
        version: one that the schema has.
        fields: Kafka's names of top-level fields, in the message's order, none behind an array, struct or
            tag; with their usual values, if the engine should compare them.
    Raises:
        ValueError: the message has no such version, or a field is not a number near the front, in this order, at this
            version.
    """
    usually = fields if isinstance(fields, Mapping) else dict.fromkeys(fields, Usually.ANYTHING)
    return _compile_peek(name, version, tuple(usually.items()))


@cache
def _compile_peek(name: str, version: int, fields: tuple[tuple[str, Usually], ...]) -> Peek:
    schema = _schema(name, version)
    writer = ProgramWriter(version, schema.is_flexible(version), {})
    wanted = list(fields)
    for field in schema.fields:
        if version not in field.versions or field.is_tagged(version):
            continue
        if not wanted or field.is_array or field.type is FieldType.STRUCT:
            break
        if (
            field.kafka_name == wanted[0][0]
            and field.type in FIXED_SIZES
            and field.type is not FieldType.UUID
        ):
            writer.emit(_kind(field), slot=wanted.pop(0)[1])
        else:
            writer.value(field, field.kafka_name)
    if wanted:
        raise ValueError(
            f"{name} v{version}: {wanted[0][0]} is not a number near the front, or not in this order"
        )
    writer.emit(Kind.END)
    return Peek(writer.ops)


class ProgramWriter:
    """Writes one program: the ops of the message, then those of its tagged fields."""

    def __init__(
        self, version: int, flexible: bool, slots: Mapping[str, int], *, notes_codes: bool = False
    ) -> None:
        self.ops: list[_Op] = []
        self._notes_codes = notes_codes
        self._tags: list[tuple[int, int]] = []
        self._version = version
        self._flexible = flexible
        self._slots = slots
        self._jump_target = -1
        self._pending: list[tuple[int, Field, str]] = []

    def program(self) -> Program:
        """Return the finished program."""
        return Program(*self.finished())

    def finished(self) -> tuple[list[_Op], list[tuple[int, int]]]:
        """End the program; return its ops and its tagged fields."""
        self.emit(Kind.END)
        while self._pending:
            entry, field, path = self._pending.pop()
            self._tags[entry] = self._tags[entry][0], len(self.ops)
            self.value(field, path)
            self.emit(Kind.END)
        return self.ops, self._tags

    def emit(self, kind: int, flags: int = 0, slot: int = 0, a: int = 0, b: int = 0) -> int:
        """Add an op and return its index; a SKIP, or a CODE, behind a SKIP is added to that one."""
        last = self.ops[-1] if self.ops and self._jump_target != len(self.ops) else (Kind.END, 0, 0, 0, 0)
        size = last[3]
        if (last[0], kind) == (Kind.SKIP, Kind.CODE) and size + slot < _CODE_BEFORE:
            self.ops[-1] = (kind, 0, size + slot, size + a, 0)
        elif kind == Kind.SKIP and last[0] in (Kind.SKIP, Kind.CODE):
            self.ops[-1] = (last[0], 0, last[2], size + a, 0)
        else:
            self.ops.append((kind, flags, slot, a, b))
        return len(self.ops) - 1

    def struct(self, fields: Sequence[Field], prefix: str) -> None:
        """Write the fields of a struct, the tagged ones last."""
        present = [field for field in fields if self._version in field.versions]
        plain = [field for field in present if not field.is_tagged(self._version)]
        place = 0
        while place < len(plain):
            path = prefix + plain[place].kafka_name
            if self._slots.get(path) == SLOT_ADDRESS:
                self._address(plain[place - 1 : place + 2], path)
                place += 1  # The port is part of it.
            else:
                self.value(plain[place], path)
            place += 1
        if self._flexible:
            tagged = [field for field in present if field.is_tagged(self._version)]
            self._tagged_fields([(field, prefix + field.kafka_name) for field in tagged])

    def value(self, field: Field, path: str) -> None:
        """Write a field that is not tagged."""
        if field.is_array:
            self._array(field, path)
        elif field.type is FieldType.STRUCT:
            self._single_struct(field, path)
        else:
            self.scalar(field, path, nullable=self._version in field.nullable)

    def _address(self, fields: Sequence[Field], path: str) -> None:
        """Write the host and the port of a broker; the ID before them is written."""
        kinds = [(FieldType.INT32, "brokerId"), (FieldType.STRING, None), (FieldType.INT32, None)]
        found = [(field.type, field.entity_type) for field in fields]
        if found != kinds or fields[2].kafka_name != "Port":
            raise ValueError(f"{path} does not stand between a broker's ID and port")
        nullable = self._version in fields[1].nullable
        self.emit(
            Kind.ADDRESS, _length_flags(fields[1], self._version, self._flexible, nullable), SLOT_ADDRESS
        )

    def _tagged_fields(self, tagged: list[tuple[Field, str]]) -> None:
        self.emit(Kind.TAGS, a=len(self._tags), b=len(tagged))
        for field, path in tagged:
            if not any(slot_path == path or slot_path.startswith(path + ".") for slot_path in self._slots):
                self._pending.append((len(self._tags), field, path))
            self._tags.append((int(field.tag or 0), -1))

    def scalar(self, field: Field, path: str, *, nullable: bool) -> None:
        """Write a value that is not a struct, or one element of an array."""
        is_name = field.type in (FieldType.STRING, FieldType.UUID)
        slot = self._slot(path, look_up=is_name, usual=field.type in _USUAL, of_type=field.type)
        is_looked_at = slot != self._slots.get(path, 0)
        if field.type is FieldType.UUID and slot:
            self.emit(Kind.UUID, slot=SLOT_DECODE if is_looked_at else slot)
        elif slot == SLOT_USUAL:
            self.emit(_kind(field), slot=slot, a=cast(int, field.default))
        elif slot == SLOT_PARTITION:
            self.emit(Kind.INT32, slot=slot)
        elif field.type in FIXED_SIZES:
            if slot:
                raise ValueError(f"{path} is a number and cannot have a slot")
            is_code = self._notes_codes and _is_error_code(field)
            self.emit(Kind.CODE if is_code else Kind.SKIP, slot=int(is_code), a=FIXED_SIZES[field.type])
        else:
            kind = Kind.STRING if field.type is FieldType.STRING else Kind.BYTES
            flags = _length_flags(field, self._version, self._flexible, nullable)
            self.emit(kind, flags, slot, a=int(is_looked_at))

    def _single_struct(self, field: Field, path: str) -> None:
        slot = self._slot(path)
        if self._version not in field.nullable:
            if slot:
                raise ValueError(f"{path} is always there and cannot have a slot")
            self.struct(field.fields, path + ".")
            return
        flags = Flag.TAGGED if field.is_tagged(self._version) else 0
        marker = self.emit(Kind.STRUCT, flags, slot)
        self.struct(field.fields, path + ".")
        self._jump_behind(marker)

    def _array(self, field: Field, path: str) -> None:
        has_names = field.type in (FieldType.STRING, FieldType.UUID)
        slot = self._slot(path, look_up=has_names, usual=True)
        flags = _length_flags(field, self._version, self._flexible, self._version in field.nullable)
        smallest = _element_size(field, self._version, self._flexible)
        array = self.emit(Kind.ARRAY, flags, slot if slot in (SLOT_DECODE, SLOT_USUAL) else 0, b=smallest)
        if field.type is FieldType.STRUCT:
            self.struct(field.fields, path + ".")
        elif slot in _LOOK_UPS or field.type not in FIXED_SIZES:
            self.scalar(field, path, nullable=False)
        else:
            self.emit(Kind.SKIP, a=smallest)
        if [(one[0] in (Kind.SKIP, Kind.CODE), one[3]) for one in self.ops[array + 1 :]] == [
            (True, smallest)
        ]:
            inner = self.ops.pop()
            self.ops[array] = (Kind.ARRAY, flags | Flag.FIXED, self.ops[array][2] or inner[2], 0, smallest)
        else:
            self.emit(Kind.END)
        self._jump_behind(array)

    def _slot(
        self, path: str, *, look_up: bool = False, usual: bool = False, of_type: FieldType | None = None
    ) -> int:
        slot = self._slots.get(path, 0)
        if look_up and slot - IF_USUAL in _LOOK_UPS:
            slot -= IF_USUAL
        may_have = (
            slot in (0, SLOT_DECODE) or (look_up and slot in _LOOK_UPS) or (usual and slot == SLOT_USUAL)
        )
        if not may_have and slot != _OF_RECORDS.get(of_type):
            raise ValueError(f"{path} cannot have slot {slot}")
        return slot

    def _jump_behind(self, index: int) -> None:
        """Make op `index` continue after the ops written so far."""
        kind, flags, slot, _, b = self.ops[index]
        self.ops[index] = (kind, flags, slot, len(self.ops), b)
        self._jump_target = len(self.ops)


def _schema(name: str, version: int) -> MessageSchema:
    schema = message_schema(name)
    if version not in schema.versions:
        raise ValueError(f"{name} has the versions {schema.versions}, not {version}")
    return schema


def _paths(fields: Sequence[Field], prefix: str) -> set[str]:
    paths = {prefix + field.kafka_name for field in fields}
    return paths.union(*(_paths(field.fields, f"{prefix}{field.kafka_name}.") for field in fields))


def _kind(field: Field) -> Kind:
    return Kind[field.type.name]


def _is_error_code(field: Field) -> bool:
    return field.type is FieldType.INT16 and field.name.endswith("error_code")


def _length_flags(field: Field, version: int, flexible: bool, nullable: bool) -> int:
    compact = flexible if field.flexible is None else version in field.flexible
    return (Flag.COMPACT if compact else 0) | (Flag.NULLABLE if nullable else 0)


def _element_size(field: Field, version: int, flexible: bool) -> int:
    """Return the fewest bytes that a value takes, for an array one element of it.

    Even a struct without fields needs one byte, as in Kafka, so that every count is bounded.
    """
    if field.type in FIXED_SIZES:
        return FIXED_SIZES[field.type]
    if field.type is FieldType.STRUCT:
        return max(1, _struct_size(field.fields, version, flexible))
    if _length_flags(field, version, flexible, False):
        return 1
    return 2 if field.type is FieldType.STRING else 4


def _struct_size(fields: Sequence[Field], version: int, flexible: bool) -> int:
    size = 1 if flexible else 0
    for field in fields:
        if version not in field.versions or field.is_tagged(version):
            continue
        if field.is_array:
            size += 1 if flexible else 4
        elif field.type is FieldType.STRUCT:
            size += 1 if version in field.nullable else _struct_size(field.fields, version, flexible)
        else:
            size += _element_size(field, version, flexible)
    return size


def _layout(
    cls: type[Struct], message: type[Struct], fields: Sequence[Field], version: int, flexible: bool
) -> Layout:
    entries = []
    for field in fields:
        flags = _length_flags(field, version, flexible, version in field.nullable)
        flags |= Flag.LIST if field.is_array else 0
        flags |= Flag.IGNORABLE if field.ignorable else 0
        if version in field.versions:
            flags |= Flag.TAGGED if field.is_tagged(version) else Flag.PRESENT
        layout = None
        if field.type is FieldType.STRUCT:
            struct = getattr(message, str(field.struct_name))
            layout = _layout(struct, message, field.fields, version, flexible)
        tag = -1 if field.tag is None else field.tag
        smallest = _element_size(field, version, flexible)
        entries.append((sys.intern(field.name), _kind(field), flags, tag, field.default, layout, smallest))
    return Layout(cls, cls.__qualname__, flexible, entries)

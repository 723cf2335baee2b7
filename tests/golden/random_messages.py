"""Random messages in the JSON form of Kafka's `*JsonConverter` classes, made from our schemas.

What a message is like is its mood: the first three of a combination are bare (null, empty, no tagged fields),
full (nothing null, nothing empty, every tagged field) and hollow (arrays filled, all else null), so that every
field is met both ways; the others mix. Numbers like their limits, strings the lengths at which a compact
length (length + 1, as a varint) grows by a byte, and the longest that Kafka allows.
"""

import math
import random
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bifrost.wire.schema import Field, FieldType, MessageSchema
from golden.kafka_json import json_name

INTEGERS = {
    FieldType.INT8: (-(2**7), 2**7 - 1),
    FieldType.INT16: (-(2**15), 2**15 - 1),
    FieldType.UINT16: (0, 2**16 - 1),
    FieldType.INT32: (-(2**31), 2**31 - 1),
    FieldType.UINT32: (0, 2**32 - 1),
    FieldType.INT64: (-(2**63), 2**63 - 1),
}
FLOATS = (0.0, -0.0, 1.0, -2.5, 1e300, 5e-324, -1.7976931348623157e308, math.inf, -math.inf, math.nan)
EDGE_LENGTHS = (126, 127, 128, 16382, 16383, 16384)
"""Around which a varint of length + 1 takes a byte more."""
LONGEST_STRING = 0x7FFF
LETTERS = ("abcXYZ019._-", "äöüß", "заказы", "注文", "😀🛰", '"\\/\n\t\0')
MOST_VALUES = 600
"""Values of one message, roughly: arrays of structs stay short once they are used up."""
MOST_LONG_VALUES = 3


@dataclass(frozen=True, slots=True)
class Mood:
    """How often, as a probability, a value is null, an array of structs or anything else is empty, a tagged
    field is there, and a length is unusual."""

    null: float
    empty_structs: float
    empty: float
    tagged: float
    edge: float


BARE = Mood(null=1, empty_structs=1, empty=1, tagged=0, edge=0)
FULL = Mood(null=0, empty_structs=0, empty=0, tagged=1, edge=0.02)
HOLLOW = Mood(null=1, empty_structs=0, empty=1, tagged=1, edge=0)
MIXED = Mood(null=0.25, empty_structs=0.15, empty=0.2, tagged=0.6, edge=0.08)


def mood_of(index: int) -> Mood:
    """Give the mood of the `index`-th message of a combination."""
    return (BARE, FULL, HOLLOW)[index] if index < 3 else MIXED


class MessageMaker:
    """Makes one random message.

    Args:
        chance: the only source of randomness.
        records: runs of record batches to choose from.
    """

    def __init__(
        self, schema: MessageSchema, version: int, mood: Mood, chance: random.Random, records: Sequence[bytes]
    ) -> None:
        self._schema = schema
        self._version = version
        self._mood = mood
        self._chance = chance
        self._batches = records
        self._values_left = MOST_VALUES
        self._long_left = MOST_LONG_VALUES

    def make(self) -> dict[str, Any]:
        """Make the message; NaN and the infinities stand in it as Python's."""
        return self._struct(self._schema.fields)

    def _struct(self, fields: Sequence[Field]) -> dict[str, Any]:
        node: dict[str, Any] = {}
        for field in fields:
            if self._version not in field.versions:
                continue
            if not field.is_tagged(self._version) or self._is(self._mood.tagged):
                node[json_name(field)] = self._field(field)
        return node

    def _field(self, field: Field) -> Any:
        is_filled = field.is_array and field.type is FieldType.STRUCT and not self._mood.empty_structs
        if self._version in field.nullable and not is_filled and self._is(self._mood.null):
            return None
        if field.is_array:
            return [self._value(field) for _ in range(self._array_length(field))]
        return self._value(field)

    def _value(self, field: Field) -> Any:
        self._values_left -= 1
        if field.type is FieldType.STRUCT:
            return self._struct(field.fields)
        if field.type in INTEGERS:
            return self._integer(*INTEGERS[field.type])
        makers = {
            FieldType.BOOL: lambda: self._is(0.5),
            FieldType.FLOAT64: lambda: self._chance.choice(FLOATS),
            FieldType.UUID: self._uuid,
            FieldType.STRING: self._string,
            FieldType.BYTES: lambda: b64encode(self._chance.randbytes(self._length(70_000))).decode(),
            FieldType.RECORDS: self._records,
        }
        return makers[field.type]()

    def _integer(self, low: int, high: int) -> int:
        if self._is(0.5):
            return self._chance.choice((low, low + 1, high - 1, high, 0, 1, max(low, -1)))
        return self._chance.randint(low, high)

    def _uuid(self) -> str:
        value = bytes(16) if self._is(self._mood.empty) else self._chance.randbytes(16)
        return urlsafe_b64encode(value).decode().rstrip("=")

    def _string(self) -> str:
        length, letters = self._length(LONGEST_STRING), self._chance.choice(LETTERS)
        text = ""
        size = 0
        # Some letters are enough of a long string; the length in bytes has to be exact.
        while len(text) < 20 and size + 4 <= length:
            text += self._chance.choice(letters)
            size = len(text.encode())
        return text + "x" * (length - size)

    def _records(self) -> str:
        batches = b"" if self._is(self._mood.empty) else self._chance.choice(self._batches)
        return b64encode(batches).decode()

    def _length(self, longest: int) -> int:
        """Choose the length of a string or of bytes, in bytes."""
        if self._is(self._mood.empty):
            return 0
        if self._long_left and self._is(self._mood.edge):
            self._long_left -= 1
            return self._chance.choice((*EDGE_LENGTHS, longest))
        return self._chance.randint(1, 24)

    def _array_length(self, field: Field) -> int:
        is_struct = field.type is FieldType.STRUCT
        if self._is(self._mood.empty_structs if is_struct else self._mood.empty):
            return 0
        if self._values_left <= 0:
            return 1
        if self._long_left and self._is(self._mood.edge):
            self._long_left -= 1
            return self._chance.choice((126, 127, 128))
        return self._chance.choice((1, 1, 2, 3) if is_struct else (1, 2, 3, 5))

    def _is(self, probability: float) -> bool:
        return self._chance.random() < probability

"""Checks Avro payloads against a program: see avro_check.pyx."""

class NoAvro(ValueError):
    """Bytes are no value of a schema. The text says why and at which byte, without any content."""

class AvroProgram:
    """A schema as a flat program; `avro_program.py` makes it."""

    def __init__(
        self, kinds: list[int], firsts: list[int], counts: list[int], children: list[int]
    ) -> None: ...
    def check(self, data: bytes | memoryview, max_values: int) -> int:
        """Return how many values a payload has.

        Raises:
            NoAvro: it does not read under the schema, or has more values or depth than is allowed.
        """

NULL_TYPE: int
BOOLEAN: int
INT: int
LONG: int
FLOAT: int
DOUBLE: int
BYTES: int
STRING: int
FIXED: int
ENUM: int
ARRAY: int
MAP: int
UNION: int
RECORD: int

"""What reading costs at most, in nanoseconds, for estimates.

They need not be exact: an estimate decides where a payload is read, not whether it passes.
"""

from typing import Final

JSON_BYTE: Final = 6
JSON_VALUE: Final = 250
"""To make an object of a value, to convert it for the library of schemas, and to let it go."""
JSON_NODE: Final = 8
"""To compare a value with a keyword of its schema."""
JSON_STATE: Final = 1
"""To touch a state of a regular expression with a character."""

AVRO_BYTE: Final = 2
AVRO_VALUE: Final = 400
"""To make an object of a value."""

PROTOBUF_BYTE: Final = 100
"""To read a byte: the smallest message within a message has two."""
PROTOBUF_VALUE: Final = 1_000
"""To make an object of a field."""

CEL_CHECK: Final = 2_000
"""To begin with a rule."""
CEL_VALUE: Final = 500
"""To give a rule a value, and to look at it."""
CEL_TEXT: Final = 16
"""So many bytes of a text count as a value."""

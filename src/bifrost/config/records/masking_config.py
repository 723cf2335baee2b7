"""What Masking does: which fields of JSON values consumers do not see, and what they see in their place."""

import json
import math
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, PlainValidator, StrictStr, model_validator

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.records.registry_config import FormatConfig
from bifrost.config.section import Section
from bifrost.config.values import Principal, Text

MAX_FIELDS = 32
"""Most paths of one filter: each is compared with the names of each value."""

MAX_NAMES = 16
"""Most names of a path."""

MAX_UNMASKED = 1_000
"""Most principals that see everything."""

MAX_CONSTANT = 256
"""Most characters of a constant: all records get it."""

ANY = "*"
ELEMENTS = "[*]"


class MaskAction(StrEnum):
    """What consumers see in place of a field."""

    HASH = "hash"
    LAST_FOUR = "last_four"
    SET_NULL = "set_null"
    CONSTANT = "constant"


class UnreadableValue(StrEnum):
    """What becomes of a value that is no JSON."""

    SET_NULL = "set_null"
    ERROR = "error"


def split_path(path: str) -> tuple[list[str], bool]:
    """Return the names of a path, and whether the elements of an array at its end are masked one by one.

    Raises:
        ValueError: it is no path.
    """
    names = [name.removesuffix(ELEMENTS) for name in path.split(".")]
    odd = any(not name or "[" in name or "]" in name or (ANY in name and name != ANY) for name in names)
    if odd or len(names) > MAX_NAMES:
        raise ValueError(
            f"{path!r} is no path: write up to {MAX_NAMES} names with dots between, * for any name, "
            "[*] behind a name for the elements of an array"
        )
    return names, path.endswith(ELEMENTS)


def _check_path(path: str) -> str:
    split_path(path)
    return path


def _read_constant(value: object) -> str:
    """Return a text, a number or a truth value as JSON."""
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not is_number and not (isinstance(value, str) and len(value) <= MAX_CONSTANT):
        raise ValueError(f"expected a text of at most {MAX_CONSTANT} characters, a number or a truth value")
    return json.dumps(value)


JsonPath = Annotated[StrictStr, Field(min_length=1, max_length=1024), AfterValidator(_check_path)]
_Constant = Annotated[str, Field(max_length=MAX_CONSTANT)]
JsonConstant = Annotated[
    str, PlainValidator(_read_constant, json_schema_input_type=_Constant | int | float | bool)
]


class MaskedField(Section):
    """A field that consumers do not see."""

    path: JsonPath = Field(examples=["customer.email"])
    """Where the field is: names with dots between, from the outermost object. Arrays on the way are passed through; `*`
    stands for any name; `[*]` at the end masks the elements of an array one by one, not the array. Required."""

    action: MaskAction = Field(examples=["hash"])
    """What is seen in its place: `hash`, a keyed hash, the same for the same value; `last_four`, the last four
    characters; `set_null`, null; or `constant`, always the same. Required."""

    value: JsonConstant | None = Field(default=None, examples=["hidden"])
    """With `constant`: what is seen, a text, a number, or `true` or `false`. Default: the key is absent."""

    @model_validator(mode="after")
    def _check_value(self) -> "MaskedField":
        if (self.value is not None) != (self.action is MaskAction.CONSTANT):
            raise ValueError("action constant needs a value, and no other action has one")
        return self


class MaskingConfig(FormatConfig):
    """What Masking does."""

    fields: tuple[MaskedField, ...] = Field(
        default=(), max_length=MAX_FIELDS, examples=["[{ path: customer.email, action: hash }]"]
    )
    """Of `Masking`: the fields. Where two paths lead to the same one, the first counts. Required with
    `Masking`. Default: none."""

    hash_key_file: Text | None = Field(default=None, examples=["secrets/hash.key"])
    """Of `Masking`: file with the key of `hash`, at least 32 bytes; spaces and line breaks at its ends do not count.
    Required with `hash`. Default: none."""

    hash_key: KeptSecret | None = Field(default=None, repr=False)
    """The key. Not a key of the file: the loader reads it from `hash_key_file`."""

    unmasked: tuple[Principal, ...] = Field(
        default=(), max_length=MAX_UNMASKED, examples=['["User:auditor"]']
    )
    """Of `Masking`: who sees the fields as they are: `User:` and the name by which a client authenticates.
    Default: none."""

    unreadable: UnreadableValue = UnreadableValue.SET_NULL
    """Of `Masking`: what becomes of a value that is not what `format` says: `set_null`, the record has no
    value; or `error`, the partition has an error in place of the batch. It is never passed as it is.
    Default `set_null`."""

"""Holds a record of the journal against schema-v2.json, which is the JSON form of Spark's StructType."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bifrost.journal.record import schema

RANGES = {"integer": 31, "long": 63}
KINDS = ("usage", "event", "snapshot", "drop")


def misfits(record: dict[str, Any]) -> list[str]:
    """Return what of a record is not as the schema says."""
    found = list(_misfits(record, schema(), "record"))
    present = [kind for kind in KINDS if kind in record]
    if present != [record["kind"]]:
        found.append(f"a record of kind {record['kind']} has {present}")
    return found


def _misfits(value: Any, type_: Any, where: str) -> Iterator[str]:
    if isinstance(type_, str):
        if not _fits(value, type_):
            yield f"{where}: {value!r} is no {type_}"
    elif type_["type"] == "array":
        for index, one in enumerate(value):
            yield from _misfits(one, type_["elementType"], f"{where}[{index}]")
    elif type_["type"] == "map":
        for key, one in value.items():
            yield from _misfits(one, type_["valueType"], f"{where}[{key}]")
    else:
        fields = {one["name"]: one for one in type_["fields"]}
        yield from (f"{where}.{name} is not in the schema" for name in value if name not in fields)
        for name, one in fields.items():
            if name in value:
                yield from _misfits(value[name], one["type"], f"{where}.{name}")
            elif not one["nullable"]:
                yield f"{where}.{name} is missing"


def _fits(value: Any, type_: str) -> bool:
    if type_ == "string":
        return isinstance(value, str)
    if type_ == "boolean":
        return isinstance(value, bool)
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and -(2 ** RANGES[type_]) <= value < 2 ** RANGES[type_]
    )

"""Fields of a record of the state: see record_layout.pyx."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Log = TypeVar("_Log", bound=tuple[int, int, bytes | None, bytes | None])
_Record = TypeVar("_Record", bound=tuple[Any, ...])

def split_fields(value: bytes) -> tuple[int, int, str, bytes, bytes] | None:
    """Return the fields of a record that has the layout of `encode`; None: it has another, or is no record.

    What is returned is not checked any further: the author and the body may be no JSON.

    Args:
        value: the record's value in the topic.
    Returns:
        Its version; its time, in milliseconds since 1970; its change; its author, the fields `writer` and
        `on_behalf_of` as they stand there; its body, as it stands there.
    """

def decode_records(
    records: list[_Log],
    kinds: dict[bytes, str],
    record_type: type[_Record],
    key_type: type[tuple[str, str]],
    read_author: Callable[[bytes], tuple[str, str | None]],
    read_body: Callable[[bytes], Any],
    most_name: int,
    most_bytes: int,
) -> list[_Record | None]:
    """Return records of the log as records of the state; None for each that another function has to read or refuse.

    Args:
        records: as they are in the log, each a tuple of offset, timestamp, key and value.
        kinds: the kinds that are known, by their bytes; None for a record of another one.
        record_type: the type of tuple for a record: key, version, time, change, writer, on behalf of whom, body.
        key_type: the type of tuple for its key: kind, name.
        read_author: decodes the author as `split_fields` returns it.
        read_body: likewise the body.
        most_name: the longest key that is taken, in bytes.
        most_bytes: the most bytes of a key and its value that are taken.
    """

def put_new(
    log: list[_Log],
    read: list[_Record | None],
    start: int,
    values: Mapping[str, dict[bytes, bytes]],
    last: dict[Any, Any],
    most_last: int,
    changed: set[Any],
    changes: set[str],
) -> tuple[int, int]:
    """Put records into a table up to the first one that is not simply a new key with a body.

    Args:
        log: the records as they are in the log.
        read: the same, decoded; None: it was not.
        start: the first one that is put.
        values: the table: values by kind and by name, as they are in the log. A kind that it has not ends the work.
        last: takes decoded records by their keys, as long as it has fewer than `most_last`.
        most_last: see there.
        changed: takes the keys.
        changes: takes the IDs of the changes.
    Returns:
        How many were put there, and their bytes with their keys.
    Raises:
        ValueError: fewer records were decoded, or `start` is negative.
    """

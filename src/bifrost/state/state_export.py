"""An export of the state: JSON lines, a header and then one line for each key.

    {"bifrost_state": 1, "schema": 1, "records": 2, "sha256": "..."}    the checksum is that of all lines below
    {"key": "namespace:org", "value": {"schema": 1, "version": 3, ...}}

The values are those of the topic, with versions, deletions and the floor, so that a restored state goes on where the
exported one was.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator

from bifrost.records.record_batch import Record
from bifrost.state.record_decoding import decode
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import SCHEMA, FutureSchema, StateRecord, UnreadableState, encode

FORMAT = 1
"""Version of the export's own layout."""


class UnreadableExport(ValueError):
    """The file is no export, or not as it was written; the text says why."""


def export_lines(records: Iterable[StateRecord]) -> Iterator[bytes]:
    """Yield the lines of an export, the header first; each ends with a line feed."""
    lines = [
        b'{"key":%b,"value":%b}\n' % (json.dumps(str(one.key), ensure_ascii=False).encode(), encode(one))
        for one in sorted(records, key=lambda one: one.key)
    ]
    yield (
        b"%b\n"
        % json.dumps(
            {"bifrost_state": FORMAT, "schema": SCHEMA, "records": len(lines), "sha256": _digest(lines)}
        ).encode()
    )
    yield from lines


def read_export(lines: Iterable[bytes]) -> list[StateRecord]:
    """Return the records of an export, each of another key.

    Raises:
        UnreadableExport: see there.
    """
    first, *rest = list(lines) or [b""]
    try:
        header = json.loads(first)
    except ValueError:
        header = None
    if not isinstance(header, dict) or "bifrost_state" not in header:
        raise UnreadableExport("line 1 is not the header of an export of the state")
    for name, newest in (("bifrost_state", FORMAT), ("schema", SCHEMA)):
        if type(header.get(name)) is not int or not 1 <= header[name] <= newest:
            text = f"{name} is {header.get(name)!r}, and this version of bifrost reads up to {newest}: use a newer one"
            raise UnreadableExport(text)
    if header.get("records") != len(rest):
        raise UnreadableExport(
            f"the header says {header.get('records')!r} records, and there are {len(rest)}: the file is not complete"
        )
    if header.get("sha256") != _digest(rest):
        raise UnreadableExport("the checksum in the header is not that of the records: the file was changed")
    records = [_record(number, line) for number, line in enumerate(rest, 2)]
    if len({one.key for one in records}) < len(records):
        raise UnreadableExport("a key is there twice")
    return records


def to_write(records: Iterable[StateRecord]) -> list[Record]:
    """Return records as they are written to a topic, unchanged."""
    return [(one.at_ms, one.key.to_bytes(), encode(one)) for one in records]


def differences(exported: Iterable[StateRecord], found: Iterable[StateRecord]) -> list[tuple[StateKey, str]]:
    """Return each key that an export and a state do not have alike, and in what."""
    theirs, ours = ({one.key: one for one in side} for side in (exported, found))
    different = []
    for key in sorted(theirs.keys() | ours.keys()):
        if key not in ours:
            different.append((key, "only in the export"))
        elif key not in theirs:
            different.append((key, "not in the export"))
        elif ours[key] != theirs[key]:
            versions = f"version {theirs[key].version} in the export, {ours[key].version} in the state"
            different.append((key, versions))
    return different


def _record(number: int, line: bytes) -> StateRecord:
    try:
        fields = json.loads(line)
        value = json.dumps(fields["value"], ensure_ascii=False).encode()
        return decode(fields["key"].encode(), value, number)
    except FutureSchema:
        raise UnreadableExport(
            f"line {number} has a newer schema than its header: use a newer bifrost"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, UnreadableState):
        raise UnreadableExport(f"line {number} is no record of the state") from None


def _digest(lines: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.rstrip(b"\r\n") + b"\n")
    return digest.hexdigest()

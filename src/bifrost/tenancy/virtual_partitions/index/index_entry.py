"""What the index has of one physical partition, and the record of its topic that says so.

    key      partition:<physical topic>:<number>
    value    {"version": 1,
              "topic_id": "<32 hexadecimal digits>",            zeros: the brokers give topics no IDs
              "from": 0, "to": 40001,                           the offsets that were read
              "last_batch": {"offset": 39990, "leader_epoch": 3, "crc": 305419896},     which ends before `to`
              "ends": {"0": 40001, "2": 1},                     behind the last record of each group that has one
              "moved": {"2": 24576}}                            where consumers of a group may be beyond its end

`moved` are offsets to which Fetch has moved consumers and that these have committed (see partition_end.py); a group
ends there at the least, so that its lag is not below 0. A record without a value deletes the entry: the topic is gone.

All of it is checked when it is read. What is not as it must be is no entry, whatever has written it.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark, LogPiece
from bifrost.tenancy.virtual_partitions.partition_end import STEP

VERSION = 1
MAX_BYTES = 64 * 1024
"""Most bytes of a value: 512 groups with the largest offsets, twice each, take some 30 KiB."""
MAX_GROUPS = 512
"""Most groups of a physical partition, as in the configuration."""
NO_TOPIC_ID = bytes(16)
"""What stands for the ID of a topic before Kafka 2.8."""

_KIND = "partition"
_MAX_NAME = 249
"""Most characters of a topic's name, Kafka's own limit."""
_MAX_PARTITION, _MAX_OFFSET, _MAX_EPOCH, _MAX_CRC = 2**31 - 1, 2**63 - 1, 2**31 - 1, 2**32 - 1
_KEYS = frozenset({"version", "topic_id", "from", "to", "last_batch", "ends", "moved"})

Place = tuple[bytes, int]
"""A physical topic and one of its partitions."""


class UnreadableEntry(ValueError):
    """A record of the index is none that a gateway of this version writes; the text says why."""


class IndexEntry(NamedTuple):
    """What is known of a physical partition."""

    topic_id: bytes
    begin: int
    """Where the log began when it was first read."""
    end: int
    """Behind the last batch that was read."""
    last_batch: BatchMark
    ends: Mapping[int, int]
    moved: Mapping[int, int] = {}

    def extended(self, piece: LogPiece) -> "IndexEntry":
        """Return the entry with what follows it in the log, or overlaps its end."""
        return self._replace(end=piece.end, last_batch=piece.last, ends={**self.ends, **piece.ends})


def key_of(place: Place) -> bytes:
    """Return the key of the record about a physical partition."""
    topic, partition = place
    return b"%b:%b:%d" % (_KIND.encode(), topic, partition)


def read_key(key: bytes | None) -> Place | None:
    """Return which physical partition a record is about; None: none, it is of another kind.

    Raises:
        UnreadableEntry: it is of this kind, and names none.
    """
    kind, _, rest = (key or b"").partition(b":")
    if kind != _KIND.encode():
        return None
    topic, _, number = rest.rpartition(b":")
    if not 0 < len(topic) <= _MAX_NAME or not number.isdigit() or len(number) > len(str(_MAX_PARTITION)):
        raise UnreadableEntry("the key names no partition")
    return topic, _number(int(number), 0, _MAX_PARTITION, "partition")


def to_value(entry: IndexEntry) -> bytes:
    """Return the value of the record."""
    mark = entry.last_batch
    fields = {
        "version": VERSION,
        "topic_id": entry.topic_id.hex(),
        "from": entry.begin,
        "to": entry.end,
        "last_batch": {"offset": mark.offset, "leader_epoch": mark.leader_epoch, "crc": mark.crc},
        "ends": _texts(entry.ends),
        "moved": _texts(entry.moved),
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def read_value(value: bytes) -> IndexEntry:
    """Return the entry that a record has.

    Raises:
        UnreadableEntry: see there.
    """
    fields = _fields(value)
    end = _number(fields["to"], 1, _MAX_OFFSET, "to")
    begin = _number(fields["from"], 0, end - 1, "from")
    batch = fields["last_batch"]
    if not isinstance(batch, dict) or batch.keys() != {"offset", "leader_epoch", "crc"}:
        raise UnreadableEntry("last_batch has other keys")
    mark = BatchMark(
        _number(batch["offset"], 0, end - 1, "last_batch.offset"),
        _number(batch["leader_epoch"], -1, _MAX_EPOCH, "last_batch.leader_epoch"),
        _number(batch["crc"], 0, _MAX_CRC, "last_batch.crc"),
    )
    moved = _by_group(fields["moved"], STEP, _MAX_OFFSET, "moved")
    if any(offset % STEP for offset in moved.values()):
        raise UnreadableEntry("moved has an offset to which no consumer is moved")
    ends = _by_group(fields["ends"], begin + 1, end, "ends")
    return IndexEntry(_topic_id(fields["topic_id"]), begin, end, mark, ends, moved)


def _fields(value: bytes) -> dict[str, Any]:
    if len(value) > MAX_BYTES:
        raise UnreadableEntry(f"{len(value)} bytes are more than {MAX_BYTES}")
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise UnreadableEntry("it is not JSON") from error
    if not isinstance(fields, dict):
        raise UnreadableEntry("it is no JSON object")
    version = fields.get("version")
    if type(version) is not int or version != VERSION:
        raise UnreadableEntry(f"its version is not {VERSION}")
    if fields.keys() != _KEYS:
        raise UnreadableEntry("it has other keys")
    return fields


def _topic_id(text: object) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * len(NO_TOPIC_ID):
        raise UnreadableEntry("topic_id is no ID")
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise UnreadableEntry("topic_id is no ID") from error


def _number(found: object, low: int, high: int, name: str) -> int:
    if type(found) is not int or not low <= found <= high:
        raise UnreadableEntry(f"{name} is no number from {low} to {high}")
    return found


def _by_group(found: object, low: int, high: int, name: str) -> dict[int, int]:
    if not isinstance(found, dict) or len(found) > MAX_GROUPS:
        raise UnreadableEntry(f"{name} is no object of at most {MAX_GROUPS} groups")
    read: dict[int, int] = {}
    for group, offset in found.items():
        if not (group.isascii() and group.isdigit()) or len(group) > len(str(MAX_GROUPS)):
            raise UnreadableEntry(f"{name} has a key that is no group")
        read[_number(int(group), 0, MAX_GROUPS - 1, name)] = _number(offset, low, high, name)
    return read


def _texts(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(group): offset for group, offset in sorted(offsets.items())}

"""What the broker of a Stage has in its logs, for requests that the gateway asks before the client's."""

from __future__ import annotations

from typing import Any

from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from support.clients.record_batches import build_batch
from support.stage import messages
from support.stage.playbook import Playbook, broker_answers, to_broker

EARLIEST, LATEST = -2, -1


def own_batch(group: int, base: int, count: int = 1, **fields: Any) -> bytes:
    """Return a batch of a group, from an offset on."""
    own = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, **fields}
    made = marked_batch(build_batch([b"v"] * count, **own), group)
    whole = b"".join(made) if isinstance(made, tuple) else bytes(made)
    return base.to_bytes(8, "big") + whole[8:]


def offsets_asked(topic: str, times: dict[int, int], isolation_level: int = 0) -> Any:
    """Return a ListOffsets of the gateway's own: a time for each physical partition."""
    some = [
        {"partition_index": one, "timestamp": at, "current_leader_epoch": -1} for one, at in times.items()
    ]
    fields = {"replica_id": -1, "isolation_level": isolation_level}
    return messages.build("ListOffsetsRequest", {**fields, "topics": [{"name": topic, "partitions": some}]})


def offsets_told(topic: str, offsets: dict[int, int], error_code: int = 0) -> Any:
    """Return the broker's answer."""
    some = [
        {"partition_index": one, "offset": at, "timestamp": -1, "leader_epoch": -1, "error_code": error_code}
        for one, at in offsets.items()
    ]
    return messages.build("ListOffsetsResponse", {"topics": [{"name": topic, "partitions": some}]})


def log_asked(topic: str, partition: int, offset: int, size: int) -> Any:
    """Return a Fetch of the gateway's own."""
    one = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": size}
    fields = {"replica_id": -1, "max_bytes": size, "isolation_level": 0}
    return messages.build("FetchRequest", {**fields, "topics": [{"topic": topic, "partitions": [one]}]})


def log_told(topic: str, partition: int, records: bytes, error_code: int = 0) -> Any:
    """Return the broker's answer."""
    one = {"partition_index": partition, "records": records, "error_code": error_code}
    return messages.build("FetchResponse", {"responses": [{"topic": topic, "partitions": [one]}]})


def says_bounds(
    book: Playbook, topic: str, bounds: dict[int, tuple[int, int]], isolation_level: int = 0
) -> Playbook:
    """Let the broker say where its logs begin and end."""
    first, last = dict.fromkeys(bounds, EARLIEST), dict.fromkeys(bounds, LATEST)
    return (
        book
        << to_broker(offsets_asked(topic, first, isolation_level))
        << to_broker(offsets_asked(topic, last, isolation_level))
        >> broker_answers(offsets_told(topic, {one: start for one, (start, _) in bounds.items()}))
        >> broker_answers(offsets_told(topic, {one: end for one, (_, end) in bounds.items()}))
    )

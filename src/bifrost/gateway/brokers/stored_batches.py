"""Reads batches from the broker that has them, for filters that must look into what is stored.

A Fetch with room for one byte gets the batch that has the offset, whole, and no more (KIP-74); with more room, those
behind it as well. So what is read is bounded by that room, by the largest batch of a topic, and by `ENOUGH_BYTES`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from bifrost.filters.steps import StoredAt, StoredBatch, StoredBatches
from bifrost.gateway.errors import BrokerError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest

if TYPE_CHECKING:
    from bifrost.gateway.brokers.broker_client import BrokerClient
    from bifrost.gateway.brokers.cluster import Broker

ENOUGH_BYTES = 1024 * 1024
"""When a message has so much, it is decided as far as that goes before more is read: it keeps what it has in memory."""
_BY_NAME, _OLDEST = 12, 4
"""The newest version of Fetch that names a topic, and the oldest that has batches with headers."""


async def read_batches(
    client: BrokerClient, broker: Broker, need: StoredBatches, wait_ms: int
) -> StoredBatches:
    """Return a need with the batches that the broker has, or why not; with some of them when these are large.

    Args:
        client: a connection to the broker, which is closed afterwards.
        broker: which one that is.
        need: what is wanted.
        wait_ms: how long that may take; what is not read by then has an error that may pass.
    """
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    found: dict[StoredAt, StoredBatch] = {}
    version = broker.newest(ApiKey.FETCH, _BY_NAME)
    try:
        async with asyncio.timeout(wait_ms / 1000):
            for at in need.wanted:
                if sum(len(one.records) for one in found.values()) >= ENOUGH_BYTES:
                    break
                if version < _OLDEST:
                    raise BrokerError(f"{client.address}: it is older than Kafka 0.11")
                found[at] = await _read(client, version, at)
    except (TimeoutError, BrokerError):
        # A consumer asks again after this error, of its own accord.
        failed = StoredBatch(int(ErrorCode.KAFKA_STORAGE_ERROR))
        found |= {at: failed for at in need.wanted if at not in found}
    finally:
        await client.close()
    waited_ns = need.waited_ns + int((loop.time() - began_s) * 1e9)
    return replace(need, found=found, waited_ns=waited_ns)


async def _read(client: BrokerClient, version: int, at: StoredAt) -> StoredBatch:
    wanted = FetchRequest.FetchPartition(
        partition=at.partition,
        current_leader_epoch=-1,
        fetch_offset=at.offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=at.max_bytes,
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=at.max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=at.topic.decode(), partitions=[wanted])],
    )
    answer = await client.request(request, version)
    code = int(getattr(answer, "error_code", 0))
    for topic in answer.responses:
        for partition in topic.partitions:
            return StoredBatch(code or int(partition.error_code), bytes(partition.records or b""))
    return StoredBatch(code or int(ErrorCode.KAFKA_STORAGE_ERROR))

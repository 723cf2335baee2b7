"""The quota of partitions that clients create and delete (KIP-599, `controller_mutation_rate`).

A client that knows THROTTLING_QUOTA_EXCEEDED gets it for each topic that comes when the quota is used up; an older one
is served, and its next such request waits. Both are told how long it takes until the debt is paid
(ControllerMutationQuotaManager).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bifrost.filters.filter import Exchange
from bifrost.filters.topics.growth import at_brokers
from bifrost.tenancy.policy import Refusal
from bifrost.tenancy.topic_bounds import BY_DEFAULT, Growth
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

STRICT_SINCE: Mapping[int, int] = MappingProxyType(
    {ApiKey.CREATE_TOPICS: 6, ApiKey.CREATE_PARTITIONS: 3, ApiKey.DELETE_TOPICS: 5}
)
"""The first versions whose clients know the error (KafkaApis, `strictSinceVersion`)."""


def charge_creation(exchange: Exchange, growth: Growth | None, topic: Any) -> Refusal | None:
    """Charge the partitions of a topic that is to be created; return why it may not be.

    One that exists is not charged: the broker refuses it.
    """
    if exchange.mutations is None or _has(exchange, growth, topic.name):
        return None
    wanted = at_brokers(exchange, topic.name, len(topic.assignments) or topic.num_partitions)
    if wanted == BY_DEFAULT:
        wanted = 1 if growth is None else growth.default_partitions
    return _charge(exchange, max(1, wanted))


def charge_growth(exchange: Exchange, growth: Growth | None, topic: Any) -> Refusal | None:
    """Charge the partitions that a topic is to have in addition, as far as it is known how many it has."""
    if exchange.mutations is None:
        return None
    before = _has(exchange, growth, topic.name)
    wanted = at_brokers(exchange, topic.name, topic.count)
    return _charge(exchange, max(1, wanted - before) if before else 1)


def charge_deletion(exchange: Exchange, growth: Growth | None, name: str) -> Refusal | None:
    """Charge the partitions of a topic that is to be deleted, as far as it is known how many it has."""
    partitions = 1 if growth is None else _has(exchange, growth, name)
    if exchange.mutations is None or not partitions:
        return None
    return _charge(exchange, partitions)


def tell(exchange: Exchange, response: Any) -> None:
    """Let an answer tell the client how long to wait."""
    if exchange.mutations is not None and exchange.mutations.throttle_ms:
        response.throttle_time_ms = max(response.throttle_time_ms, exchange.mutations.throttle_ms)
        exchange.mutations.note_told()


def _has(exchange: Exchange, growth: Growth | None, name: str) -> int:
    return 0 if growth is None else growth.has(exchange.scope.namespace.physical_name(name))


def _charge(exchange: Exchange, partitions: int) -> Refusal | None:
    assert exchange.mutations is not None
    is_strict = exchange.api_version >= STRICT_SINCE[exchange.api_key]
    if exchange.mutations.take(partitions, is_strict=is_strict):
        return None
    return Refusal(ErrorCode.THROTTLING_QUOTA_EXCEEDED, ErrorCode.THROTTLING_QUOTA_EXCEEDED.message)

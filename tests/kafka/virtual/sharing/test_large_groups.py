"""Ten consumers of 1,000 virtual partitions on 100: each has parts of all 100, and names them in an order of its own.

Without sharing the brokers would send each record ten times.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_groups import FETCHED, HELD, RECORD_BYTES, SHARED, Group, check, counted, produce
from support.virtual_topics import create

_log = logging.getLogger(__name__)

VIRTUAL, PHYSICAL, MEMBERS = 1_000, 100, 10
ALL = {"members": MEMBERS, "partitions": VIRTUAL}


@pytest.fixture(scope="module")
def dividing(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        rule = {"topics": ["large-*"], "virtual": VIRTUAL, "physical": PHYSICAL}
        config["tenants"][0]["virtual_partitions"] = [rule]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(tmp_path_factory.mktemp("large"), kafka.bootstrap, **options) as process:
        yield process


@pytest.fixture
def large(endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> str:
    """A new topic."""
    return create(endpoint, direct, unique("large"), VIRTUAL, PHYSICAL)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("strategy", "is_behind", "most"),
    [("range", False, 2), ("range", True, 5), ("roundrobin", True, 2)],
    ids=["follows the log", "starts behind", "starts behind without parts in common"],
)
def test_a_large_group_reads_each_record_once(
    dividing: GatewayProcess,
    endpoint: Endpoint,
    large: str,
    unique: UniqueName,
    strategy: str,
    is_behind: bool,
    most: int,
) -> None:
    """And the brokers send it at most so many times.

    Consumers that start behind ask first where each of their partitions begins, so they do not begin together: 1.05 to
    1.6 times on an idle machine, more where ten clients, gateway and broker wait for each other. With `roundrobin` one
    consumer has all virtual partitions of a physical one.
    """
    numbers = range(12)
    if is_behind:
        produce(endpoint, large, numbers, partitions=VIRTUAL)
    there_is = len(numbers) * VIRTUAL * RECORD_BYTES
    options: dict[str, Any] = {"partition.assignment.strategy": strategy, **ALL}
    group = Group(endpoint, large, unique("group"), is_behind=is_behind, **options)
    group.start()
    before, shared = counted(dividing, FETCHED), counted(dividing, SHARED)
    try:
        if not is_behind:
            for number in numbers:
                produce(endpoint, large, range(number, number + 1), partitions=VIRTUAL)
        group.await_records(len(numbers) * VIRTUAL)
    finally:
        group.stop()

    fetched, shared = counted(dividing, FETCHED) - before, counted(dividing, SHARED) - shared
    _log.info(f"there is {there_is}, fetched {fetched}, {fetched / there_is:.2f} times, shared {shared}")
    check(group, numbers, VIRTUAL)
    assert there_is <= fetched <= most * there_is
    assert 0 <= counted(dividing, HELD) <= 18 * 1024 * 1024

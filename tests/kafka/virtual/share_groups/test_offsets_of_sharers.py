"""What Kafka's own tool shows and changes of share groups of topics with virtual partitions."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap, VirtualPartition
from bifrost.wire.api_keys import ApiKey
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools
from support.brokers.tool_shell import ToolShell
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.java.sharers import read_from_the_start
from support.virtual_topics import EACH, PHYSICAL, RATIO, expected, produce

WAIT_S = 60.0

pytestmark = [
    pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module"),
    pytest.mark.needs_api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0),
    pytest.mark.needs_api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1),
    pytest.mark.timeout(300),
]


@pytest.fixture
def shell(kafka_tool: KafkaTools, endpoint: Endpoint, tmp_path: Path) -> ToolShell:
    return ToolShell(kafka_tool, endpoint, tmp_path)


def read(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str, count: int
) -> Counter[tuple[int, str]]:
    """Read so many records as a member, and all that comes within half a second; acknowledge them."""
    found: Counter[tuple[int, str]] = Counter()
    member = java.share_consumer(endpoint, group)
    java("subscribe", member, topic)
    deadline = time.monotonic() + WAIT_S
    while True:
        records = java("poll", member, 500)
        found.update((partition, value) for _, partition, _, value in records)
        if not records and sum(found.values()) >= count:
            break
        assert time.monotonic() < deadline, found
    java("close", member)
    return found


def test_offsets_are_shown_and_reset(
    java: JavaClients, shell: ToolShell, endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    kind = topic.partition("-")[0]
    partitions = PartitionMap.of_ratio(RATIO) if kind == "ratio" else PartitionMap(size, PHYSICAL[kind])
    firsts = {str(number) for number in range(size) if partitions.place_of(VirtualPartition(number))[0] == 0}
    group = read_from_the_start(java, endpoint, unique("sharers"))
    produce(endpoint, topic, size=size)
    every = Counter((one, value) for one, some in expected(topic, size=size).items() for value in some)
    assert read(java, endpoint, topic, group, EACH * size) == every

    described = shell(tools.SHARE_GROUPS, "--describe", "--group", group, "--offsets")
    assert sorted(int(row["PARTITION"]) for row in described) == list(range(size))
    assert {row["PARTITION"]: row["LAG"] for row in described} == {
        str(number): "0" if str(number) in firsts else "-" for number in range(size)
    }

    options = ("--group", group, "--topic", topic, "--reset-offsets", "--execute")
    shell(tools.SHARE_GROUPS, *options, "--to-earliest")
    assert read(java, endpoint, topic, group, EACH * size) == every
    produce(endpoint, topic, "more", size=size)
    described = shell(tools.SHARE_GROUPS, "--describe", "--group", group, "--offsets")
    lags = {row["PARTITION"]: row["LAG"] for row in described}
    assert sum(int(lag) for number, lag in lags.items() if number in firsts) == EACH * size

    # At the lowest of the ends: what others have written behind it comes again.
    shell(tools.SHARE_GROUPS, *options, "--to-latest")
    again = read(java, endpoint, topic, group, 0)
    assert again.keys() <= {
        (one, value) for one, some in expected(topic, "more", size=size).items() for value in some
    }

    shell(tools.SHARE_GROUPS, "--delete-offsets", "--group", group, "--topic", topic)
    shell(tools.SHARE_GROUPS, "--delete", "--group", group)
    listed = shell(tools.SHARE_GROUPS, "--list")
    assert group not in {value for row in listed for value in row.values()}

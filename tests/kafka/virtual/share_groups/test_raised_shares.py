"""The operator raises `virtual` while a share group reads: its members get the new partitions too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX
from support.gateways.reloadable_gateway import Reloadable
from support.java.java_clients import JavaClients
from support.java.sharers import poll_all, read_from_the_start, sharers
from support.virtual_topics import EACH, create, expected, produce

PHYSICAL, FEW, MORE = 4, 8, 12
WAIT_S = 60.0


def with_virtual(number: int) -> Any:
    def change(config: dict[str, Any]) -> None:
        rule = {"topics": ["grows-*"], "virtual": number, "physical": PHYSICAL}
        config["tenants"][0]["virtual_partitions"] = [rule]

    return change


@pytest.fixture
def growing(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloadable]:
    directory = tmp_path_factory.mktemp("raised_shares")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": with_virtual(FEW), "has_admin": True}
    with Reloadable(directory, kafka.bootstrap, **options) as process:
        yield process


@pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_members_read_them(
    java: JavaClients, growing: Reloadable, direct: RawClient, unique: UniqueName
) -> None:
    endpoint = growing.endpoint("globex")
    topic = create(endpoint, direct, unique("grows"), FEW, PHYSICAL)
    group, found = read_from_the_start(java, endpoint, unique("sharers")), Counter[tuple[int, str]]()
    produce(endpoint, topic, "a", size=FEW)
    members = sharers(java, endpoint, topic, group, 2)
    poll_all(java, members, found, FEW * EACH)
    growing.apply(with_virtual(MORE))
    produce(endpoint, topic, "b", size=MORE)
    poll_all(java, members, found, (FEW + MORE) * EACH)
    java("close", *members)

    before, after = (
        Counter((one, value) for one, some in expected(topic, run, size=size).items() for value in some)
        for run, size in (("a", FEW), ("b", MORE))
    )
    # A reload ends the connections of the tenant: what a member had acquired is given out again.
    assert found.keys() == before.keys() | after.keys()
    assert found & after == after
    assert sum(found.values()) <= sum(after.values()) + 2 * sum(before.values())

"""Topics with virtual partitions that are moved to, or shared with, a namespace of the same tenant whose names no rule
matches: they keep their partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.namespaces.alias_table import Access
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.moved_topics import MovedTopics, bound_users
from support.virtual_topics import EACH, SIZES, WAIT_S, expected, produce, read, size_of

pytestmark = pytest.mark.timeout(400)

TENANT, BOUND = TenantSpec("mover"), "mover.billing"
RULES = [{"topics": ["even-*"], "virtual": SIZES["even"], "physical": 4}]


@pytest.fixture(scope="module")
def moved(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MovedTopics]:
    state, directory = f"__state-{time.time_ns()}", tmp_path_factory.mktemp("moved")
    users = bound_users(directory, billing="billing")

    def adjust(configuration: dict[str, Any]) -> None:
        users(configuration)
        configuration["tenants"][0]["virtual_partitions"] = RULES

    proxy = {"state": {"topic": state}}
    with GatewayProcess(directory, kafka.bootstrap, tenants=[TENANT], adjust=adjust, proxy=proxy) as gateway:
        yield MovedTopics(kafka.bootstrap, state, gateway)


@pytest.mark.parametrize("is_shared", [True, False])
def test_it_is_written_and_read_by_its_virtual_partitions(
    moved: MovedTopics, unique: UniqueName, is_shared: bool
) -> None:
    name, group = unique("even"), unique("group")
    endpoint, bound = moved.endpoint(TENANT.name), moved.endpoint(BOUND)
    admin, guest = AdminClient(endpoint.for_confluent), AdminClient(bound.for_confluent)
    admin.create_topics([NewTopic(name, SIZES["even"], 1)])[name].result(WAIT_S)
    produce(endpoint, name, "a")
    # No rule matches the name by which the namespace knows it; tests count partitions by how names begin.
    place = f"{TENANT.name}:billing/even-{name}"
    if is_shared:
        moved.share(f"{TENANT.name}/{name}", place, Access.READ_WRITE)
    else:
        moved.move(f"{TENANT.name}/{name}", place)
    moved.await_topics(BOUND, has=f"even-{name}")

    shown = guest.list_topics(f"even-{name}", timeout=WAIT_S).topics[f"even-{name}"]
    assert len(shown.partitions) == SIZES["even"]
    produce(bound, f"even-{name}", "b")
    count = 2 * EACH * size_of(name)
    assert read(bound, f"even-{name}", group, count) == expected(name, "a", "b")
    if is_shared:
        assert read(endpoint, name, group, count) == expected(name, "a", "b")

import re
from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.steps import TopicCount
from bifrost.filters.topics.growth import begin_growth
from bifrost.forwarding.broker_costs import NEW_PARTITION_NS, broker_cost_ns
from bifrost.tenancy.topic_bounds import Growth, TopicBounds
from bifrost.wire.api_keys import ApiKey
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import client_sends, counted, counts
from support.stage.stage import TENANTS, Stage


def test_a_tenant_without_bounds_is_not_judged(stage: Stage) -> None:
    stage.namespaces["acme"].bounds = None
    assert begin_growth(stage.exchange(7)) is None


def test_topics_are_counted_before_anything_is_judged(stage: Stage) -> None:
    now_ms = 0
    bounds = TopicBounds(lambda: now_ms, stage.hits, "acme")
    stage.namespaces["acme"].bounds = bounds
    exchange = stage.exchange(7)
    assert begin_growth(exchange) == TopicCount()

    bounds.count({}, 1)
    assert isinstance(begin_growth(exchange), Growth)

    now_ms = 60_000  # A count that is old now is still good for the request that waited for it.
    assert begin_growth(exchange) == TopicCount()
    exchange.met = {TopicCount: TopicCount()}
    assert isinstance(begin_growth(exchange), Growth)


def charged_ns(stage: Stage, request: Any, version: int, has: dict[str, int]) -> int:
    """Let acme, which has these topics, send a request that creates something; return what its partitions cost."""
    load = stage.shared.lanes.in_flight_limits.load("acme")
    before_ns = load.broker_left_ns
    book = stage.play() >> client_sends(request, version) << counts()

    book >> counted(
        stage.namespaces["acme"].bounds, {physical_name("acme", one): n for one, n in has.items()}
    )

    assert len(book.said.to_broker) == 1
    book.said.to_broker.clear()
    api_key = ApiKey[
        re.sub("(?<=[a-z])(?=[A-Z])", "_", type(request).__name__.removesuffix("Request")).upper()
    ]
    return before_ns - load.broker_left_ns - broker_cost_ns(api_key)


def bounded() -> Stage:
    return Stage({**TENANTS, "acme": replace(TENANTS["acme"], max_topics=5, max_partitions=300)})


@pytest.mark.parametrize(("validates_only", "charged"), [(False, 203), (True, 0)])
def test_each_partition_of_a_new_topic_is_charged_to_the_brokers_time(
    validates_only: bool, charged: int
) -> None:
    topics = [{"name": "orders", "num_partitions": 200}, {"name": "billing", "num_partitions": 3}]
    request = messages.CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=validates_only)

    assert charged_ns(bounded(), request, 6, {"events": 4}) == charged * NEW_PARTITION_NS


def test_of_a_topic_that_grows_only_the_new_partitions_are_charged() -> None:
    request = messages.CreatePartitionsRequest(topics=[{"name": "orders", "count": 10}], timeout_ms=1000)

    assert charged_ns(bounded(), request, 3, {"orders": 4}) == 6 * NEW_PARTITION_NS

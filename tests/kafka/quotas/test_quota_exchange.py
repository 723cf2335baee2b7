"""Several gateways with several workers have one budget together, whatever becomes of one of them.

`make quota-exchange` plays it for as long as BIFROST_EXCHANGE_S says, and asserts how soon a share is free again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.saturating_load import SaturatingLoad
from support.faults.fault import NO_FAULT, Fault
from support.faults.relayed_kafka import RelayedKafka
from support.gateways.admin_port import value
from support.gateways.fleet import RATE, Fleet
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GatewayProcess
from support.gateways.worker_gateway import await_true

WARM_UP_S, WINDOW_S, WITHIN = 5.0, 10.0, 0.05
LASTS_S = float(os.environ.get("BIFROST_EXCHANGE_S", WINDOW_S))
IS_LONG = LASTS_S > WINDOW_S
TOPIC = "shared-rate"
FREE_AGAIN_S = 2.0
LATE_S = 20.0
"""How long a test waits for what has no bound of its own on a busy machine."""

pytestmark = pytest.mark.timeout(int(LASTS_S) + 240)


def share(gateway: GatewayProcess) -> float:
    return value(gateway, "kafka_proxy_quota_share", quota="producer_byte_rate", tenant="globex")


def members(gateway: GatewayProcess) -> float:
    return value(gateway, "kafka_proxy_quota_exchange_members")


def is_up(gateway: GatewayProcess) -> bool:
    return value(gateway, "kafka_proxy_quota_exchange_up") == 1


def physical_topics(kafka: EmbeddedKafka) -> set[str]:
    return set(AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=20).topics)


def exchange_over(address: str) -> Callable[[dict[str, Any]], None]:
    """Have the exchange on another cluster, at this address."""

    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["limits"]["metadata_refresh_ms"] = 1000
        near = configuration.pop("upstream")
        configuration["upstreams"] = [{"name": "near", **near}, {"name": "far", "bootstrap": [address]}]
        for tenant in configuration["tenants"]:
            tenant["upstream"] = "near"

    return adjust


def windows(load: SaturatingLoad, since_s: float, until_s: float) -> list[float]:
    """Return the rate over every ten seconds, beginning in steps of half a second."""
    found, begin_s = [], since_s
    while begin_s + WINDOW_S <= until_s:
        found.append(load.rate(begin_s, begin_s + WINDOW_S))
        begin_s += 0.5
    return found


def test_two_gateways_with_two_workers_have_one_rate_and_a_killed_one_gives_its_share_back(
    fleet: Fleet, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", TOPIC)
    gateways = [fleet.start(workers=2), fleet.start(workers=2)]
    for one in gateways:
        await_true(lambda one=one: members(one) == 2, "they know each other")

    with SaturatingLoad([one.broker_endpoint("globex") for one in gateways], TOPIC) as load:
        began_s = time.monotonic()
        time.sleep(WARM_UP_S + LASTS_S + 0.1)
        rates = windows(load, began_s + WARM_UP_S, time.monotonic())
        each = [load.rate(began_s + WARM_UP_S, time.monotonic(), number) for number in range(2)]
        assert rates == pytest.approx([RATE] * len(rates), rel=WITHIN), rates
        assert each == pytest.approx([RATE / 2] * 2, rel=0.2), "each has a share"

        killed_s = time.monotonic()
        fleet.kill(gateways[0])
        gone = gateways[1].await_event(0, event="quota_member_gone", timeout_s=LATE_S)
        gone_s = time.monotonic() - killed_s
        await_true(lambda: share(gateways[1]) > 0.99, "the other has all")
        time.sleep(1)  # The metric is some seconds old, the rate is not.
        taken_s = time.monotonic()
        time.sleep(5)
        left = load.rate(taken_s, time.monotonic(), 1)

    assert left == pytest.approx(RATE, rel=0.1)
    assert gone["members"] == 1
    assert gone_s < (FREE_AGAIN_S if IS_LONG else LATE_S), gone_s


def test_a_gateway_that_stops_gives_its_share_back_at_once(fleet: Fleet) -> None:
    first, second = fleet.start(), fleet.start()
    await_true(lambda: members(first) == 2, "they know each other")

    second.stop()
    fleet.killed.append(second)

    gone = first.await_event(0, event="quota_member_gone", timeout_s=LATE_S)
    assert gone["members"] == 1
    assert "quota_exchange_not_left" not in second.log()


def test_a_gateway_that_is_cut_off_goes_on_with_its_share(fleet: Fleet, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", TOPIC)
    with RelayedKafka() as far:
        section = {"quota_exchange": {"topic": fleet.topic, "upstream": "far"}}
        cut = fleet.start(adjust=exchange_over(far.told), **section)
        other = fleet.start(adjust=exchange_over(far.bootstrap), **section)
        for one in (cut, other):
            await_true(lambda one=one: members(one) == 2, "they know each other")

        with SaturatingLoad([one.broker_endpoint("globex") for one in (cut, other)], TOPIC) as load:
            await_true(lambda: all(0.45 < share(one) < 0.55 for one in (cut, other)), "equal shares", LATE_S)
            far.proxy.toward_broker = far.proxy.toward_client = Fault(is_silent=True)
            await_true(lambda: share(other) > 0.99 and not is_up(cut), "the other has all", LATE_S)
            cut_s = time.monotonic()
            time.sleep(5)
            rate = load.rate(cut_s, time.monotonic(), 0)
            assert 0.45 < share(cut) < 0.55
            assert members(cut) == 2, "it takes no other for gone"
            far.proxy.toward_broker = far.proxy.toward_client = NO_FAULT
            await_true(lambda: is_up(cut) and 0.45 < share(other) < 0.55, "it is back", LATE_S)

        assert rate == pytest.approx(RATE / 2, rel=0.1), "its last share, and no more"
        cut.await_event(0, event="quota_exchange_interrupted")
        cut.await_event(0, event="quota_exchange_goes_on")
        fleet.end()


def test_without_quotas_no_topic_is_created_and_with_them_no_tenant_sees_it(
    fleet: Fleet, kafka: EmbeddedKafka
) -> None:
    gateway = fleet.start(quotas={})
    time.sleep(2)
    assert fleet.topic not in physical_topics(kafka)
    assert members(gateway) == 0

    with_quotas = fleet.start()
    await_true(lambda: is_up(with_quotas), "it takes part")

    assert fleet.topic in physical_topics(kafka)
    tenant = AdminClient(with_quotas.endpoint("globex").for_confluent)
    assert fleet.topic not in tenant.list_topics(timeout=20).topics
    described = tenant.list_topics(fleet.topic, timeout=20).topics[fleet.topic]
    assert described.error is not None


def test_when_the_worker_that_takes_part_ends_another_one_goes_on(fleet: Fleet) -> None:
    gateway, other = fleet.start(workers=2), fleet.start()
    await_true(lambda: members(gateway) == 2 == members(other), "they know each other")
    before = other.mark()
    written = value(gateway, "kafka_proxy_quota_exchange_records_total", outcome="written")

    for event in gateway.events():
        if event["event"] == "worker_ready" and event["worker"] == 0:
            os.kill(event["pid"], 9)
    gateway.await_event(0, event="worker_died")

    gateway.provoked.add("worker_died")
    await_true(
        lambda: (
            value(gateway, "kafka_proxy_quota_exchange_records_total", outcome="written") > written + 20
            and members(gateway) == 2
        ),
        "it goes on",
        LATE_S,
    )
    joined = [one for one in other.events(before) if one["event"] == "quota_member_joined"]
    assert len({one["member"] for one in joined}) <= 1, "under the same ID"

"""Several physical clusters behind one gateway, of which some do not answer; the brokers are played."""

import asyncio
from typing import Any

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.upstream import Upstream
from bifrost.config.model import Config
from bifrost.gateway.brokers import cluster as module
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.brokers.clusters import Clusters, entry_to
from bifrost.session.close_reason import CloseReason, SessionEnded
from support.stage.stage import PORTS, Stage, broker_versions
from unit.gateway.brokers.test_cluster import Brokers


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    brokers = Brokers("kafka-1:9092", "kafka-2:9092")
    monkeypatch.setattr(module, "BrokerClient", brokers)
    return brokers


def clusters() -> Clusters:
    """One that answers, and one whose brokers are down."""
    return Clusters(
        Cluster(Upstream(name=name, bootstrap=[f"{host}:9092"]), (), Limits(), lambda: 0)
        for name, host in (("up", "kafka-1"), ("down", "kafka-9"))
    )


def test_one_that_is_down_holds_up_no_other(brokers: Brokers, logged: list[dict[str, Any]]) -> None:
    async def scenario() -> Clusters:
        some = clusters()
        await some.discover()
        await some.refresh()
        await some.close()
        return some

    some = asyncio.run(scenario())

    assert (some.is_up("up"), some.is_up("down")) == (True, False)
    assert some.node_ids == some.answering_node_ids == {1, 2}
    assert set(some.brokers_at(1)) == set(some.brokers_at(None)) == {"up"}
    assert some.brokers_at(7) == some.brokers_at(1, ["down"]) == {}
    assert [one["upstream"] for one in logged if one["event"] == "refresh_failed"] == ["down"]


def test_where_no_broker_is_known_no_client_can_enter() -> None:
    with pytest.raises(SessionEnded) as caught:
        entry_to({}, PORTS, ())

    assert caught.value.reason is CloseReason.BROKER_UNREACHABLE


def test_a_look_that_fails_by_a_bug_is_tried_again_and_keeps_the_brokers(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    async def scenario() -> Clusters:
        some = clusters()
        await some.refresh()
        with monkeypatch.context() as patch:
            patch.setattr(Brokers, "metadata", lambda *_: 1 / 0)
            await some.refresh()
        assert (some.answering_node_ids, some.node_ids) == (set(), {1, 2})
        await some.refresh()
        await some.close()
        return some

    assert asyncio.run(scenario()).is_up("up")
    assert [one["place"] for one in logged if one["event"] == "internal_error"] == ["refresh"]


def test_one_that_stops_to_answer_is_noticed_and_keeps_its_brokers(brokers: Brokers) -> None:
    async def scenario() -> Clusters:
        some = clusters()
        await some.refresh()
        assert some.answering_node_ids == {1, 2}
        brokers.up.clear()
        await some.refresh()
        await some.close()
        return some

    some = asyncio.run(scenario())

    assert not some.answering_node_ids
    assert set(some.brokers_at(2)) == {"up"}


def test_before_authentication_is_offered_what_all_have() -> None:
    old = Stage(versions=module.offered_versions(broker_versions(Fetch=(0, 11)))).versions
    new = Stage().versions
    brokers = {"old": Broker(1, "a", 1, old), "new": Broker(4, "b", 1, new)}
    entry = entry_to(brokers, PORTS, ())

    assert entry.offered.offers(1, 11)
    assert not entry.offered.offers(1, 12)
    assert entry.route_to("new").offered is new
    assert entry.route_to("old").node_id == 1


def test_a_cluster_without_such_a_broker_ends_the_connection() -> None:
    entry = entry_to({"up": Broker(1, "a", 1, Stage().versions)}, PORTS, ())

    with pytest.raises(SessionEnded) as caught:
        entry.route_to("down")
    assert caught.value.reason is CloseReason.BROKER_UNREACHABLE
    assert "upstream down" in caught.value.detail


def test_a_cluster_that_is_given_twice_serves_once(brokers: Brokers, logged: list[dict[str, Any]]) -> None:
    brokers.cluster_id = "4L6g3nShT-eMCtK--X86sw"

    async def scenario() -> Clusters:
        some = Clusters(
            Cluster(Upstream(name=name, bootstrap=[f"{host}:9092"]), (), Limits(), lambda: 0)
            for name, host in (("one", "kafka-1"), ("same", "kafka-2"))
        )
        await some.refresh()
        await some.refresh()
        await some.close()
        return some

    some = asyncio.run(scenario())

    assert set(some.brokers_at(None)) == {"one"}
    assert not some.is_up("same")
    [told] = [one for one in logged if one["event"] == "upstream_given_twice"]
    assert (told["upstream"], told["same_as"]) == ("same", "one")


def test_another_time_limit_holds_for_the_clusters_that_stay(brokers: Brokers) -> None:
    brokers.cluster_id = "same"

    def config(timeout_ms: int) -> Config:
        port_range = {
            "advertised_host": "here",
            "bootstrap_port": 9000,
            "broker_port_range": {"start": 9001, "end": 9009},
        }
        return Config.model_validate(
            {
                "proxy": {
                    "listener_sets": [
                        {
                            "name": "any",
                            "security_protocol": "PLAINTEXT",
                            "tenant": "acme",
                            "port_range": port_range,
                        }
                    ],
                    "limits": {"upstream_connect_timeout_ms": timeout_ms},
                },
                "upstream": {"bootstrap": ["kafka-1:9092"]},
                "tenants": [{"name": "acme"}],
            }
        )

    async def scenario() -> None:
        before, after = config(1000), config(2000)
        some = Clusters(Cluster(one, (), before.proxy.limits, lambda: 0) for one in before.clusters)
        await some.discover()
        assert brokers.timeout_ms == 1000

        changed = await some.like(after, before, lambda: 0)
        await changed.take_effect(some, after.proxy.limits)
        assert tuple(changed.clusters) == tuple(some)
        await changed.clusters.refresh()
        await some.close()

    asyncio.run(scenario())

    assert brokers.timeout_ms == 2000

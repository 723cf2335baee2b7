"""Bugs of ours between a single address and the brokers: one client's connection ends, the others are served."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.routing.broker_link import BrokerLink
from bifrost.gateway.routing.dispatch import Dispatch
from bifrost.gateway.routing.fetch_polls import FetchPolls
from bifrost.gateway.routing.router import Router
from bifrost.gateway.routing.share_requests import ShareRequests
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import FindCoordinatorRequest, MetadataRequest, ShareFetchRequest
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, fetch_request, metadata_of, produce
from support.gateways.gateway_process import GLOBEX
from support.gateways.in_process import InProcess, raise_bug, raise_bug_later
from support.gateways.worker_gateway import await_true

pytestmark = pytest.mark.timeout(120)

TOPIC = "routed"


@pytest.fixture(scope="module")
def running(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    one = InProcess(
        tmp_path_factory.mktemp("routes"),
        kafka.bootstrap,
        tenants=[GLOBEX],
        limits={"metadata_refresh_ms": 1000},
        is_single_address=True,
    )
    one.start()
    with connected(one) as client:
        create_topic(client, TOPIC, 2)
        produce(client, TOPIC, [b"first"])
    yield one
    one.stop()


def connected(running: InProcess) -> RawClient:
    return RawClient.authenticated(running.endpoint("globex"), timeout_s=5)


def speak(running: InProcess) -> bool:
    """Ask for what goes each way to the brokers, as far as it gets; return whether the connection lives to the end."""
    try:
        with connected(running) as client:
            client.request(MetadataRequest(topics=[]), 9)
            produce(client, TOPIC, [b"a", b"b"])
            fetch = fetch_request(TOPIC, max_wait_ms=300, offset=0)
            client.request(fetch, 11)
            client.request(FindCoordinatorRequest(key="group", key_type=0), 2)
            if client.versions().get(ApiKey.SHARE_FETCH):
                topic_id = metadata_of(client, TOPIC)[0].topic_id
                partition = ShareFetchRequest.FetchPartition(partition_index=0)
                topic = ShareFetchRequest.FetchTopic(topic_id=topic_id, partitions=[partition])
                share = ShareFetchRequest(
                    group_id="shared",
                    member_id="AAAAAAAAAAAAAAAAAAAAAA",
                    share_session_epoch=0,
                    max_wait_ms=200,
                    min_bytes=1,
                    max_bytes=1 << 20,
                    max_records=10,
                    batch_size=10,
                    topics=[topic],
                )
                client.request(share, client.newest(ApiKey.SHARE_FETCH))
    except (ConnectionError, EOFError):
        return False
    return True


PLACES: list[tuple[Any, str]] = [
    (Router, "route"),
    (Router, "link"),
    (Router, "answer"),
    (Dispatch, "begin"),
    (BrokerLink, "send"),
    (BrokerLink, "_try_to_connect"),
    (BrokerLink, "_go_on"),
    (BrokerLink, "_take"),
    (BrokerLink, "_relay"),
    (BrokerLink, "_give"),
    (BrokerLink, "update_reading"),
    (BrokerConnection, "connection_made"),
    (FetchPolls, "_start"),
    (FetchPolls, "_poll"),
    (FetchPolls, "_note"),
    (FetchPolls, "_complete"),
    (ShareRequests, "_start"),
    (ShareRequests, "_note"),
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0].__name__}.{place[1]}")
def test_a_bug_on_the_way_to_a_broker_ends_the_client_at_once_and_no_other(
    running: InProcess, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    owner, name = place
    if owner is ShareRequests:
        with connected(running) as client:
            if not client.versions().get(ApiKey.SHARE_FETCH):
                pytest.skip("the broker has no share groups")
    before = running.errors
    with connected(running) as other, monkeypatch.context() as patch:
        assert other.request(MetadataRequest(topics=[]), 9).brokers
        patch.setattr(owner, name, raise_bug_later if name == "_try_to_connect" else raise_bug)
        began = time.monotonic()
        speak(running)
        assert time.monotonic() - began < 4, "the client was left without an answer"
        await_true(lambda: running.errors > before, "the bug was not counted")
        patch.undo()
        assert other.request(MetadataRequest(topics=[]), 9).brokers

    assert speak(running)
    await_true(lambda: not running.gateway.connections(), "connections have kept their places")


def test_a_bug_where_a_late_broker_is_noticed_ends_the_client(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its timer a link would wait for ever."""
    before = running.errors

    def watch(self: BrokerLink, _due_s: float) -> None:
        if self.timer is None:
            self.timer = running.loop.call_later(0.05, self._end_late)

    monkeypatch.setattr(BrokerLink, "watch", watch)
    monkeypatch.setattr(BrokerLink, "_look", raise_bug)
    with connected(running) as client:
        waiting = fetch_request(TOPIC, partition=1, max_wait_ms=3000, offset=0)
        waiting.min_bytes = 1
        began = time.monotonic()
        with pytest.raises((ConnectionError, EOFError)):
            client.request(waiting, 11)
        assert time.monotonic() - began < 4
    assert running.errors > before


def test_a_bug_where_a_lost_broker_is_noticed_ends_the_client(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = running.errors
    with connected(running) as client:
        produce(client, TOPIC, [b"a"])
        [connection] = running.gateway.connections()
        router = connection._broker_side
        assert isinstance(router, Router)
        links = router._all_links()
        with monkeypatch.context() as patch:
            patch.setattr(BrokerLink, "_lose", raise_bug)
            for link in links:
                running.loop.call_soon_threadsafe(link.connection.transport.abort)
            assert client.receives_end(5)
    assert running.errors > before
    assert speak(running)


def test_a_bug_where_leaders_are_looked_up_ends_the_client(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = running.errors
    with monkeypatch.context() as patch:
        patch.setattr(Dispatch, "begin", lambda *_, **__: False)
        patch.setattr(Dispatch, "look_up", raise_bug_later)
        with connected(running) as client, pytest.raises((ConnectionError, EOFError)):
            client.request(MetadataRequest(topics=[]), 9)
    assert running.errors > before
    assert speak(running)

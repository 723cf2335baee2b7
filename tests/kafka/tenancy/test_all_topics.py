"""Metadata of all topics through the gateway: what the broker would tell one who is alone, in full and at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import Connect
from support.physical_names import physical_name, prefix_of

TOPICS = 330
"""Of globex, some of several partitions: its list takes three pages of 100, 200 and 400 partitions."""
DEADLINE_S = 20.0
PREFIX = prefix_of("globex")


def _create(client: RawClient, partitions: dict[str, int]) -> None:
    topic = CreateTopicsRequest.CreatableTopic
    wanted = [
        topic(name=name, num_partitions=number, replication_factor=1) for name, number in partitions.items()
    ]
    response = client.request(CreateTopicsRequest(topics=wanted, timeout_ms=30_000), 7)
    assert {one.error_code for one in response.topics} <= {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}


def _all(client: RawClient, version: int, **fields: Any) -> Any:
    return client.request(MetadataRequest(topics=None, **fields), version)


def _described(metadata: Any, prefix: str = "") -> dict[str, Any]:
    """What is told of each topic with the prefix that is in no namespace, but for its name."""
    of_namespaces = f"{prefix}--"
    found = {
        one.name: one
        for one in metadata.topics
        if one.name.startswith(prefix) and not one.name.startswith(of_namespaces)
    }
    return {
        name.removeprefix(prefix): (
            one.error_code,
            one.topic_id,
            one.is_internal,
            sorted((p.partition_index, p.leader_id, p.leader_epoch, *p.isr_nodes) for p in one.partitions),
        )
        for name, one in found.items()
    }


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "the broker does not come to know it"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def many(broker: Endpoint) -> Iterator[None]:
    """Topics of globex, and of tenants before and behind it in the broker's order."""
    own = {f"{PREFIX}many.{number}": 5 if number % 20 == 0 else 1 for number in range(TOPICS)}
    others = [
        physical_name(tenant, f"many.{number}")
        for tenant in ("acme", "globf", "initech")
        for number in range(40)
    ]
    every = own | dict.fromkeys(others, 1)
    with RawClient(broker) as client:
        _create(client, every)
        _until(lambda: every.keys() <= {topic.name for topic in _all(client, 9).topics})
        yield
        client.request(DeleteTopicsRequest(topic_names=list(every), timeout_ms=30_000), 5)


@pytest.mark.parametrize("version", range(1, 14))
def test_all_topics_are_described_as_the_broker_does(
    version: int, connect: Connect, direct: RawClient, many: None
) -> None:
    globex = connect("globex")

    assert len(_described(_all(globex, version))) >= TOPICS
    assert _described(_all(globex, version)) == _described(_all(direct, version), PREFIX)


def test_what_others_create_or_delete_is_seen_as_soon_as_the_broker_knows_it(
    connect: Connect, direct: RawClient, many: None
) -> None:
    globex = connect("globex")
    for number in range(5):
        name = f"fleeting.{number}"
        physical = PREFIX + name
        _create(direct, {physical: 1})
        _until(lambda physical=physical: physical in _described(_all(direct, 9)))
        assert name in _described(_all(globex, 9))

        deleted = direct.request(DeleteTopicsRequest(topic_names=[physical], timeout_ms=30_000), 5)
        assert deleted.responses[0].error_code == ErrorCode.NONE
        _until(lambda physical=physical: physical not in _described(_all(direct, 9)))
        assert name not in _described(_all(globex, 9))


def test_asking_for_all_creates_nothing(connect: Connect, direct: RawClient, many: None) -> None:
    before = set(_described(_all(direct, 9)))

    for version in (4, 8, 9, 12):
        _all(connect("globex"), version, allow_auto_topic_creation=True)

    assert set(_described(_all(direct, 9))) == before


def test_requests_behind_it_are_answered_in_order(connect: Connect, many: None) -> None:
    globex = connect("globex")
    version = globex.at_most(ApiKey.METADATA, 12)
    sent = []
    for _ in range(5):
        sent.append(globex.send(MetadataRequest(topics=None), version))
        sent.append(globex.send(MetadataRequest(topics=[]), version))

    answers = [globex.receive(ApiKey.METADATA, version, one) for one in sent]

    assert [len(one.topics) >= TOPICS for one in answers] == [True, False] * 5

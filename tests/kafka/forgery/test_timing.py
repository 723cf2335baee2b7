"""An answer about a foreign thing takes as long as one about a thing that does not exist.

Both are asked in turn, in random order, so that what else the machine does meets both; the medians are compared.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import ATTACKERS, Attack

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.topic_ids import MAX_LOOK_UP
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeGroupsRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    FetchRequest,
    HeartbeatRequest,
    MetadataRequest,
)
from support.clients import Endpoint
from support.forged_requests import Loot
from support.gateway_process import HOST, GatewayProcess
from support.probe import Outcome
from support.raw_client import RawClient
from support.raw_operations import await_topic, fetch_request
from support.victim import BusyVictim

SAMPLES = 200
WARM_UP = 20
"""The first few meet code that was never run before."""
TOLERANCE_US = 150.0
"""A look-up at the broker costs 250 µs at least; medians of so many samples on a busy machine differ by some tens."""
TOLERANCE = 0.25
"""Or this part of the median, when the machine is so slow that the above is little."""

Ask = Callable[[object], tuple[Message, int]]


def metadata_by_name(name: object) -> tuple[Message, int]:
    topic = MetadataRequest.MetadataRequestTopic(name=name)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False), 12


def metadata_by_id(topic_id: object) -> tuple[Message, int]:
    topic = MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False), 12


def fetch_by_name(name: object) -> tuple[Message, int]:
    return fetch_request(str(name)), 12


def fetch_by_id(topic_id: object) -> tuple[Message, int]:
    assert isinstance(topic_id, bytes)
    return fetch_request("", topic_id=topic_id), 13


def describe_group(group_id: object) -> tuple[Message, int]:
    return DescribeGroupsRequest(groups=[group_id]), 5


def heartbeat(group_id: object) -> tuple[Message, int]:
    return HeartbeatRequest(group_id=group_id, generation_id=1, member_id="nobody"), 4


def describe_transaction(transactional_id: object) -> tuple[Message, int]:
    return DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0


def end_transaction(transactional_id: object) -> tuple[Message, int]:
    return EndTxnRequest(transactional_id=transactional_id, producer_id=5, producer_epoch=0), 3


def continue_session(session_id: object) -> tuple[Message, int]:
    return FetchRequest(min_bytes=0, session_id=session_id, session_epoch=1), 12


def close_session(session_id: object) -> tuple[Message, int]:
    return FetchRequest(min_bytes=0, session_id=session_id, session_epoch=-1), 12


@pytest.fixture(scope="module")
def herd(gateway: GatewayProcess, kafka: EmbeddedKafka) -> Iterator[dict[str, bytes]]:
    """Many topics of the victim's tenant, with their IDs: each can be asked for the first time only once."""
    names = [f"zebra-herd-{number:012}" for number in range(WARM_UP + SAMPLES)]
    with (
        RawClient.authenticated(gateway.broker_endpoint("globex")) as client,
        RawClient(Endpoint(HOST, kafka.broker_port(1))) as direct,
    ):
        topics = [
            CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in names
        ]
        created = client.request(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
        assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
        await_topic(client, names[-1])
        yield {topic.name: topic.topic_id for topic in created.topics}
        states = [DeleteTopicsRequest.DeleteTopicState(name=f"__vt_globex_{name}") for name in names]
        direct.request(DeleteTopicsRequest(topics=states, timeout_ms=30_000), 6)


def _things(kind: str, herd: dict[str, bytes], loot: Loot, number: int) -> tuple[object, object]:
    """A thing of the victim's, under its virtual and its physical name in turn, and one that does not exist.

    Of topics both were never asked for before, of the others both were.
    """
    match kind:
        case "topic":
            foreign = ("", "__vt_globex_")[number % 2] + list(herd)[number]
            return foreign, foreign[:-12] + os.urandom(6).hex()
        case "topic id":
            return list(herd.values())[number], os.urandom(16)
        case "session":
            return loot.sessions[0].foreign, random.randrange(1, 1 << 31)
    pairs = loot.groups if kind == "group" else loot.transactions
    pair = pairs[number % len(pairs)]
    return pair.foreign, pair.control


CASES: list[tuple[str, Ask]] = [
    ("topic", metadata_by_name),
    ("topic", fetch_by_name),
    ("topic id", metadata_by_id),
    ("topic id", fetch_by_id),
    ("group", describe_group),
    ("group", heartbeat),
    ("transaction", describe_transaction),
    ("transaction", end_transaction),
    ("session", continue_session),
    ("session", close_session),
]


@pytest.mark.parametrize(
    ("kind", "ask"), CASES, ids=[f"{kind.replace(' ', '_')}-{ask.__name__}" for kind, ask in CASES]
)
def test_foreign_thing_takes_as_long_as_one_that_does_not_exist(
    kind: str,
    ask: Ask,
    attack: Attack,
    loot: Loot,
    herd: dict[str, bytes],
    victim: BusyVictim,
    record_property: Callable[[str, object], None],
) -> None:
    # Each attacker asks for the first time.
    client = attack(ATTACKERS[CASES.index((kind, ask)) % 2]).client()
    took_us: dict[bool, list[float]] = {True: [], False: []}

    for number in range(WARM_UP + SAMPLES):
        things = list(zip((True, False), _things(kind, herd, loot, number), strict=True))
        random.shuffle(things)
        for is_foreign, thing in things:
            message, version = ask(thing)
            start = time.perf_counter_ns()
            client.exchange(message, version)
            took_us[is_foreign].append((time.perf_counter_ns() - start) / 1000)

    medians = {is_foreign: statistics.median(samples[WARM_UP:]) for is_foreign, samples in took_us.items()}
    difference = medians[True] - medians[False]
    record_property("foreign_us", medians[True])
    record_property("unknown_us", medians[False])
    numbers = f"foreign {medians[True]:.0f} µs, unknown {medians[False]:.0f} µs"
    assert abs(difference) < max(TOLERANCE_US, TOLERANCE * medians[False]), numbers
    victim.check()


def test_too_many_ids_are_too_many_whoever_has_one_of_them(
    attack: Attack, loot: Loot, victim: BusyVictim
) -> None:
    """A foreign ID that the gateway knows counts as much as one that it must look up."""
    prober = attack("initech")
    outcomes = []

    for probe in (os.urandom(16), victim.victim.topic_id, loot.topic_ids[1]):
        ids = [os.urandom(16) for _ in range(MAX_LOOK_UP)] + [probe]
        topics = [FetchRequest.FetchTopic(topic_id=one, partitions=[]) for one in ids]
        outcomes.append(prober.ask(FetchRequest(min_bytes=0, topics=topics), 13))

    assert outcomes == [Outcome(None, is_alive=False)] * 3
    victim.check()

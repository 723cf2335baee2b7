"""An answer about a foreign thing takes as long as one about a thing that does not exist.

Both are asked in pairs, each in random order, so that what else the machine does meets both alike; what counts is the
median of the pairs' differences. Where it is too large by chance, more pairs make it smaller; where it is a leak, not.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.topic_ids import FEW_IDS
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
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic, fetch_request
from support.clients.routed_client import RoutedClient
from support.forgery.attackers import ATTACKERS, Attack
from support.forgery.forged_requests import Loot, Own
from support.forgery.victim import BusyVictim
from support.gateways.gateway_process import ACME, GLOBEX, HOST, INITECH, GatewayProcess
from support.physical_names import physical_name, prefix_of

PAIRS, ROUNDS = 200, 4
"""Another round of so many is played when the ones before do not suffice."""
WARM_UP = 20
"""The first few meet code that was never run before."""
TOLERANCE_US = 40.0
"""A look-up at the broker costs 100 µs at least, as the last test but one shows; noise is 10 µs, rarely 40."""
TOLERANCE = 0.12
"""Or this part of the usual time, when the machine is so slow that the above is little. A look-up takes a quarter."""

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
    return HeartbeatRequest(group_id=group_id, generation_id=1, member_id="unknown"), 4


def describe_transaction(transactional_id: object) -> tuple[Message, int]:
    return DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0


def end_transaction(transactional_id: object) -> tuple[Message, int]:
    return EndTxnRequest(transactional_id=transactional_id, producer_id=5, producer_epoch=0), 3


def continue_session(session_id: object) -> tuple[Message, int]:
    return FetchRequest(min_bytes=0, session_id=session_id, session_epoch=1), 12


def close_session(session_id: object) -> tuple[Message, int]:
    return FetchRequest(min_bytes=0, session_id=session_id, session_epoch=-1), 12


class Herd:
    """Topics of the victim's tenant, as many as are asked for: each can be asked about for the first time only once."""

    def __init__(self, client: RoutedClient) -> None:
        self._client = client
        self._topics: list[tuple[str, bytes]] = []

    def topic(self, number: int) -> tuple[str, bytes]:
        """Return the name and the ID of one of them."""
        while number >= len(self._topics):
            self._grow()
        return self._topics[number]

    @property
    def physical_names(self) -> list[str]:
        return [physical_name("globex", name) for name, _ in self._topics]

    def _grow(self) -> None:
        first = len(self._topics)
        topics = [
            CreateTopicsRequest.CreatableTopic(
                name=f"zebra-herd-{number:012}", num_partitions=1, replication_factor=1
            )
            for number in range(first, first + WARM_UP + PAIRS)
        ]
        created = self._client.request(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
        assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
        await_topic(self._client, topics[-1].name)
        self._topics += [(topic.name, topic.topic_id) for topic in created.topics]


@pytest.fixture(scope="module", params=["no journal", "journal"])
def gateway(
    request: pytest.FixtureRequest,
    gateway: GatewayProcess,
    kafka: EmbeddedKafka,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    """The gateway of all tests, which has no journal, and then one that writes down whose topic was named."""
    if request.param == "no journal":
        yield gateway
        return
    directory, brokers = tmp_path_factory.mktemp("journalling"), brokers_under_test()
    tenants, journal = (ACME, GLOBEX, INITECH), {"gateway_id": "timing"}
    with GatewayProcess(
        directory, kafka.bootstrap, tenants=tenants, brokers=brokers, proxy={"journal": journal}
    ) as process:
        yield process


@pytest.fixture(scope="module")
def herd(gateway: GatewayProcess, kafka: EmbeddedKafka) -> Iterator[Herd]:
    with (
        RoutedClient(gateway.broker_endpoint("globex")) as client,
        RawClient(Endpoint(HOST, kafka.broker_port(1))) as direct,
    ):
        yield (made := Herd(client))
        states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in made.physical_names]
        direct.request(DeleteTopicsRequest(topics=states, timeout_ms=30_000), 6)


def _things(kind: str, herd: Herd, loot: Loot, number: int) -> tuple[object, object]:
    """A thing of the victim's, under its virtual and its physical name in turn, and one that does not exist.

    Of topics both were never asked for before, of the others both were.
    """
    match kind:
        case "topic":
            foreign = ("", prefix_of("globex"))[number % 2] + herd.topic(number)[0]
            return foreign, foreign[:-12] + os.urandom(6).hex()
        case "topic id":
            return herd.topic(number)[1], os.urandom(16)
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


class Stopwatch:
    """How long two kinds of question take, asked in pairs."""

    def __init__(self, client: RawClient, ask: Ask) -> None:
        self._client, self._ask = client, ask
        self._foreign_us: list[float] = []
        self._unknown_us: list[float] = []

    def ask_both(self, foreign: object, unknown: object) -> None:
        """Ask about both, in random order."""
        kinds = [(self._foreign_us, foreign), (self._unknown_us, unknown)]
        random.shuffle(kinds)
        for took_us, thing in kinds:
            message, version = self._ask(thing)
            start = time.perf_counter_ns()
            self._client.exchange(message, version)
            took_us.append((time.perf_counter_ns() - start) / 1000)

    def forget(self) -> None:
        """Take what was asked so far as warming up."""
        self._foreign_us.clear()
        self._unknown_us.clear()

    @property
    def difference_us(self) -> float:
        """The median of the pairs' differences."""
        pairs = zip(self._foreign_us, self._unknown_us, strict=True)
        return statistics.median(foreign - unknown for foreign, unknown in pairs)

    @property
    def tells_them_apart(self) -> bool:
        """Whether who sees only the times would know which is which."""
        usual_us = statistics.median(self._unknown_us)
        return abs(self.difference_us) >= max(TOLERANCE_US, TOLERANCE * usual_us)

    def __str__(self) -> str:
        medians = [statistics.median(took_us) for took_us in (self._foreign_us, self._unknown_us)]
        numbers = f"foreign {medians[0]:.0f} µs, unknown {medians[1]:.0f} µs"
        return f"{numbers}, in pairs {self.difference_us:+.0f} µs of {len(self._foreign_us)}"


@pytest.mark.parametrize(
    ("kind", "ask"), CASES, ids=[f"{kind.replace(' ', '_')}-{ask.__name__}" for kind, ask in CASES]
)
def test_foreign_thing_takes_as_long_as_one_that_does_not_exist(
    kind: str,
    ask: Ask,
    attack: Attack,
    loot: Loot,
    herd: Herd,
    victim: BusyVictim,
) -> None:
    # Each attacker asks for the first time.
    stopwatch = Stopwatch(attack(ATTACKERS[CASES.index((kind, ask)) % 2]).client(), ask)
    for number in range(WARM_UP):
        stopwatch.ask_both(*_things(kind, herd, loot, number))
    stopwatch.forget()

    for first in range(WARM_UP, WARM_UP + PAIRS * ROUNDS, PAIRS):
        for number in range(first, first + PAIRS):
            stopwatch.ask_both(*_things(kind, herd, loot, number))
        if not stopwatch.tells_them_apart:
            break

    assert not stopwatch.tells_them_apart, stopwatch
    victim.check()


@pytest.mark.parametrize("ask", [metadata_by_id, fetch_by_id])
def test_stopwatch_shows_a_look_up(ask: Ask, attack: Attack, own: dict[str, Own], victim: BusyVictim) -> None:
    """That nothing is seen must mean something: the sender's own topic, whose ID needs no look-up, is told apart."""
    stopwatch = Stopwatch(attack("initech").client(), ask)

    for _ in range(PAIRS):
        stopwatch.ask_both(own["initech"].topic_id, os.urandom(16))

    assert stopwatch.tells_them_apart, stopwatch
    assert stopwatch.difference_us < 0
    victim.check()


def test_one_of_many_unknown_ids_is_unknown_whichever_tenant_has_it(
    attack: Attack, loot: Loot, victim: BusyVictim
) -> None:
    """A foreign ID that the gateway knows is one of the many as much as one that it must look up."""
    client = attack("initech").client()

    for probe in (os.urandom(16), victim.victim.topic_id, loot.topic_ids[1]):
        request = fetch_request("")
        ids = [os.urandom(16) for _ in range(FEW_IDS)] + [probe]
        request.topics = [fetch_request("", topic_id=one).topics[0] for one in ids]
        answer = client.request(request, 13)
        codes = {one.partitions[0].error_code for one in answer.responses}
        assert (len(answer.responses), codes) == (FEW_IDS + 1, {ErrorCode.UNKNOWN_TOPIC_ID})
    victim.check()

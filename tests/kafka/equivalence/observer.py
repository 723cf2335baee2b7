"""The tenant that watches: it plays a script, and writes down all that it is told."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from heartbeat_scenarios import MEMBER_ID
from share_scenarios import settled
from test_every_api import BROKERS_ONLY, SCENARIOS, Scenario

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import Struct
from bifrost.wire.messages import (
    ApiVersionsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    ListTransactionsRequest,
    MetadataRequest,
)
from bifrost.wire.schema import FieldType
from support.clients.raw_client import decode_response
from support.clients.raw_operations import metadata_of, produce
from support.forgery import forged_requests
from support.forgery.forged_requests import Loot, Own, forgeries
from support.forgery.probe import Prober
from support.forgery.victim import join_classic, subscription
from support.forgery.worlds import ConnectionClosedError, World
from support.physical_names import MARK, physical_name

Told = list[tuple[str, Any]]
"""What was asked, and what was answered."""

PLACED = frozenset(
    {
        "controller_id",
        "eligible_leader_replicas",
        "host",
        "isr_nodes",
        "leader_id",
        "node_id",
        "offline_replicas",
        "port",
        "replica_nodes",
    }
)
"""Which broker has what: where there are several, Kafka draws it (StripedReplicaPlacer)."""
BY_BROKER = frozenset(
    {
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.SHARE_ACKNOWLEDGE,
        ApiKey.SHARE_FETCH,
    }
)
"""Told by one broker, of what was placed on it: where there are several, Kafka draws it."""
KNOWN_EVERYWHERE_S = 10.0
_NAMES = ("name", "group_id", "transactional_id", "resource_name")
_UUID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}")
"""In Kafka's writing: the ID of a member of the newer groups, and of a broker's directory in a path."""
ENDS = frozenset({"group_state", "transaction_state", "partition_size"})
"""What members and transactions that were left behind change when their time is up: beside a neighbour the same script
takes longer. What these fields say of something at work is compared in the scenarios."""
NOT_FORGED = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""A second authentication would end the connection."""
EACH = 2
"""Forged requests of one API and version, of some dozens."""


class Observed(World):
    """A world of which nothing is left out that others could change."""

    ends_by_time = False
    """Whether what ended meanwhile is left out."""

    def _value(self, name: str, kind: FieldType, value: Any) -> Any:
        if (self.brokers > 1 and name in PLACED) or (self.ends_by_time and name in ENDS):
            return "left out"
        if isinstance(value, list):
            return sorted((self._value(name, kind, item) for item in value), key=repr)
        if kind is FieldType.UUID and value not in self._ids and value != bytes(16):
            known = f"ID number {len(self._numbers)}"
            return self._numbers.setdefault((name, value), known)
        if isinstance(value, str) and (name == "log_dir" or _UUID_TEXT.fullmatch(value)):
            known = f"{name} number {len(self._numbers)}"
            return self._numbers.setdefault((name, value), known)
        return super()._value(name, kind, value)

    def topic(
        self,
        name: str,
        partitions: int = 1,
        records: Sequence[bytes] = (),
        configs: Mapping[str, str] | None = None,
    ) -> bytes:
        """Make a topic as any world does, and wait until every broker knows it."""
        topic_id = super().topic(name, partitions, records, configs)
        deadline = time.monotonic() + KNOWN_EVERYWHERE_S
        for node_id in self.admin.nodes:
            while metadata_of(self.admin.at(node_id), name)[0].error_code != ErrorCode.NONE:
                assert time.monotonic() < deadline, f"broker {node_id} does not know {name}"
        return topic_id

    def plain(self, answer: Struct) -> dict[str, Any]:
        """Return an answer as plain values."""
        return self._struct(answer)


class Observer:
    """Plays the script; `between` is called before each request or scenario."""

    def __init__(self, world: Observed, between: Callable[[], None]) -> None:
        self._world = world
        self._between = between
        self._epochs = {"watch-names": 0, "watch-regex": 0, "watch-mixed": 0}
        self.told: Told = []
        # A scenario asks one broker for things that several have; what it was told until then is compared.
        self._tolerated = (AssertionError,) if world.brokers > 1 else ()

    def play_scenarios(self) -> None:
        """Play every scenario of the equivalence tests, at the newest version that is offered."""
        for label, scenario, version in _cases(self._world):
            self._between()
            self._world.forget()
            with suppress(ConnectionClosedError, *self._tolerated):
                scenario(self._world, version)
            self._note(label, self._world.comparable())

    # -- what is watched from the beginning to the end

    def begin_to_watch(self) -> None:
        """Join groups of which the broker makes the assignment, by names, by a pattern, and as a classic member."""
        world = self._world
        world.forget()
        for name, partitions in (("orders", 3), ("billing", 2)):
            world.topic(name, partitions)
        world.prefix = ""
        for group_id in self._epochs:
            self._heartbeat(group_id, until_assigned=True)
        self._join_as_classic()
        self.watch()

    def watch(self) -> None:
        """Ask for everything that could count what others do."""
        world = self._world
        world.forget()
        world.ends_by_time = True
        for group_id in self._epochs:
            self._between()
            self._heartbeat(group_id)
            world.ask(ConsumerGroupDescribeRequest(group_ids=[group_id]), 1)
        for message, version in (
            (MetadataRequest(topics=None), 12),
            (MetadataRequest(topics=None), 1),
            (DescribeTopicPartitionsRequest(topics=[]), 0),
            (ListGroupsRequest(), 4),
            (ListTransactionsRequest(), 0),
            (ListConfigResourcesRequest(resource_types=[]), 1),
            (DescribeLogDirsRequest(topics=None), 4),
            (ApiVersionsRequest(client_software_name="raw", client_software_version="1"), 3),
        ):
            self._between()
            if message.SCHEMA.api_key in BY_BROKER and world.brokers > 1:
                continue
            answer = world.ask(message, version)
            self._note(f"order of {message.SCHEMA.name}", _names_in(answer))
        self._note("watch", world.comparable())
        world.ends_by_time = False

    def _heartbeat(self, group_id: str, *, until_assigned: bool = False) -> None:
        epoch = self._epochs[group_id]
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id=MEMBER_ID, member_epoch=epoch, rebalance_timeout_ms=300_000
        )
        if epoch == 0:
            request.topic_partitions = []
            if group_id == "watch-regex":
                request.subscribed_topic_regex = f"orders|counted|zebra.*|{MARK}.*"
            else:
                request.subscribed_topic_names = ["orders", "counted"]

        def ask() -> Any:
            answer = self._world.ask(request, 1)
            request.member_epoch = answer.member_epoch
            return answer

        def is_assigned(answer: Any) -> bool:
            assert answer.error_code == ErrorCode.NONE, answer
            return answer.assignment is not None and answer.assignment.topic_partitions != []

        answer = settled(self._world, ask, is_assigned) if until_assigned else ask()
        self._epochs[group_id] = answer.member_epoch

    def _join_as_classic(self) -> None:
        """A classic member of the third group names physical topics in subscriptions that cannot be read."""
        foreign = subscription("orders", physical_name("neighbour", "counted"), "__consumer_offsets")
        for payload in (foreign + b"\0", foreign[:-1], foreign.replace(b"orders", b"order\xff")):
            protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=payload)
            request = JoinGroupRequest(
                group_id="watch-mixed",
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                protocol_type="consumer",
                protocols=[protocol],
            )
            answer = self._world.ask(request, 9)
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                request.member_id = answer.member_id
                self._world.ask(request, 9)
            self._heartbeat("watch-mixed")

    # -- forgeries

    def forge(self, loot: Loot) -> None:
        """Send forged requests of every API and version.

        Args:
            loot: what the neighbour has, or what it had when the script was played beside it.
        """
        own = self._make_own(loot)
        with pytest.MonkeyPatch.context() as patch:
            # Groups that the requests make up are called the same each time.
            patch.setattr(forged_requests, "_numbers", count(1))
            prober = Prober(self._world.endpoint)
            for place, (api_key, version) in enumerate(_forged_versions(self._world)):
                if place % 3 == 0:
                    self._between()
                chosen = _some(list(forgeries(api_key, version, own, loot)), place)
                for forgery in chosen:
                    outcome = prober.ask(forgery.foreign, version)
                    self._world.forget()
                    answer = outcome.answer and decode_response(api_key, version, bytes(4) + outcome.answer)
                    told = (outcome.is_alive, answer and self._world.plain(answer))
                    self._note(forgery.label, told)
            prober.close()

    def _make_own(self, loot: Loot) -> Own:
        world = self._world
        for topic in ("orders", "billing"):
            world.topic(topic)
            produce(world.admin, topic, [b"the sender's own"])
        request = InitProducerIdRequest(transactional_id="own-transaction", transaction_timeout_ms=10_000)
        assert world.admin.request(request, 4).error_code == ErrorCode.NONE
        joined = join_classic(world.admin, "own-live", "orders", "own-instance")
        return Own("orders", world.id_of("orders"), "billing", "own-live", joined.member_id)

    def take_producer_ids(self, beyond: int) -> None:
        """Take producer IDs until they are above one: Kafka counts them, and none of one's own may be forged."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=10_000)
        while self._world.admin.request(request, 4).producer_id <= beyond:
            pass

    def _note(self, label: str, answers: Any) -> None:
        self.told.append((f"{len(self.told)} {label}", answers))


def _names_in(struct: Any) -> list[str]:
    """Return the names in an answer, in its order."""
    names = [getattr(struct, field) for field in _NAMES if isinstance(getattr(struct, field, None), str)]
    lists = [
        value for value in (getattr(struct, one.name) for one in struct.FIELDS) if isinstance(value, list)
    ]
    return names + [
        name for items in lists for item in items if isinstance(item, Struct) for name in _names_in(item)
    ]


def _cases(world: World) -> Iterator[tuple[str, Scenario, int]]:
    for api_key, scenarios in SCENARIOS.items():
        offered = [
            version
            for version in served_versions(api_key) or ()
            if world.offers(api_key, version) and (api_key, version) not in BROKERS_ONLY
        ]
        if api_key in BY_BROKER and world.brokers > 1:
            continue
        for scenario in scenarios:
            yield f"{api_key.name} v{offered[-1]} {scenario.__name__}", scenario, offered[-1]


def _forged_versions(world: World) -> Iterator[tuple[ApiKey, int]]:
    for api_key in sorted((set(SERVED) | REFUSED) - NOT_FORGED):
        if api_key in BY_BROKER and world.brokers > 1:
            continue
        for version in served_versions(api_key) or ():
            if world.offers(api_key, version):
                yield api_key, version


def _some(forged: Sequence[Any], place: int) -> list[Any]:
    """Return a few of the forged requests, others each time, and the last, which forges everything."""
    chosen = {(place * EACH + number) * 7 % len(forged) for number in range(EACH - 1)} if forged else set()
    return [forged[number] for number in sorted(chosen)] + list(forged[-1:])

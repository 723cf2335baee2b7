"""Random, valid client operations in sensible order: the same ones in several worlds, whose answers must be equal.

A `Machine` gives each operation its arguments from what there is by then (topics, producers, groups, transactions), and
plays it in every world; after each, the answers are compared. What the worlds themselves make up (topic IDs, producer
IDs, members, sessions) each world keeps for itself. The operations stand in random_client.py; Hypothesis draws them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from bifrost.wire.messages import CreatePartitionsRequest, CreateTopicsRequest
from bifrost.wire.schema import request_schema
from support.brokers.placed_topics import assignments_of, replicas_of
from support.clients.raw_operations import log_end, log_start, records_of
from support.clients.record_batches import read_batches
from support.forgery.worlds import World, differences

MAX_TOPICS = 8
Play = Callable[["Player"], None]
Operation = Callable[["Machine"], Play]
"""Draws its arguments from the machine once; what it returns is played in every world."""


SETTLED_S = 30.0


class NotOfferedError(Exception):
    """The broker under test is too old for an operation."""


class Player(World):
    """A world that keeps what the broker gave it under the machine's own names."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """See `World`."""
        super().__init__(*args, **options)
        self.made: dict[Any, Any] = {}
        """Producers, members and sessions by the machine's key for them."""
        self.requests = 0

    def ask(self, message: Message, version: int) -> Any:
        """Send a request; see `World.ask`."""
        self.requests += 1
        return super().ask(message, version)

    def ask_quietly(self, message: Message, version: int) -> Any:
        """Send a request whose answer is settled some time later only: it does not count."""
        answer = self.ask(message, version)
        self.answers.pop()
        return answer

    def placed(self, name: str, partitions: int) -> CreateTopicsRequest.CreatableTopic:
        """Return a topic to be created; before several brokers, one whose replicas have the same places everywhere."""
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        if self.brokers > 1:
            self._placed.add(name)
            topic.num_partitions = topic.replication_factor = -1
            topic.assignments = assignments_of(name, partitions, self.brokers)
        return topic

    def grown(self, name: str, before: int, count: int) -> CreatePartitionsRequest.CreatePartitionsTopic:
        """Return what gives a topic so many partitions, likewise."""
        replicas = replicas_of(name, count, self.brokers)[before:] if self.brokers > 1 else []
        assignment = CreatePartitionsRequest.CreatePartitionsAssignment
        return CreatePartitionsRequest.CreatePartitionsTopic(
            name=name, count=count, assignments=[assignment(broker_ids=one) for one in replicas] or None
        )

    def note(self, value: Any) -> None:
        """Let a plain value count in the comparison."""
        self.answers.append(f"noted {value!r}")


@dataclass
class Topic:
    """A topic that exists in every world."""

    name: str
    partitions: int
    is_compacted: bool = False


@dataclass
class Model:
    """What there is, in the machine's own names."""

    topics: dict[str, Topic] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    sequences: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Next sequence number of an idempotent producer for a partition."""


class Machine:
    """Plays operations."""

    def __init__(self, players: Sequence[Player], prefix: str) -> None:
        """Start with nothing.

        Args:
            players: the worlds; the first offers the versions that are used.
            prefix: what every name begins with, so that several machines share a world.
        """
        self.rng = random.Random()
        self.players = players
        self.model = Model()
        self.prefix = prefix
        self._numbers = 0
        self.played: list[str] = []

    def name(self, kind: str) -> str:
        """Return a name that nothing has yet."""
        self._numbers += 1
        return f"{self.prefix}{kind}-{self._numbers}"

    def version(self, api_key: ApiKey, low: int = 0, high: int = 1 << 15) -> int:
        """Draw a version that the first world's broker offers and the schemas know, within bounds.

        Raises:
            NotOfferedError: there is none.
        """
        offered = self.players[0].admin.versions().get(api_key, (0, -1))
        schema = request_schema(api_key).versions
        lowest, highest = max(offered[0], schema.low, low), min(offered[1], schema.high, high)
        if lowest > highest:
            raise NotOfferedError(f"{api_key.name} from v{low}")
        return self.rng.randint(lowest, highest)

    def topic(self) -> Topic:
        """Draw a topic that exists."""
        return self.rng.choice(list(self.model.topics.values()))

    def group(self) -> str:
        """Draw a group that was named before, or a new one."""
        if not self.model.groups or self.rng.random() < 0.3:
            self.model.groups.append(self.name("group"))
            del self.model.groups[:-12]
        return self.rng.choice(self.model.groups)

    def step(self, operation: Operation, rng: random.Random) -> bool:
        """Draw an operation's arguments, play it in every world, and compare.

        Returns:
            False: the broker under test is too old for it, and nothing was done.

        Args:
            operation: one that can do without a topic while there is none.
            rng: of everything that is random about it.
        Raises:
            AssertionError: the worlds differ; with the operations that led there.
        """
        self.rng = rng
        try:
            play = operation(self)
        except NotOfferedError:
            return False
        self.played.append(operation.__name__)
        found = []
        for player in self.players:
            player.answers.clear()
            player.prefix = self.prefix
            try:
                play(player)
            except AssertionError as error:
                world = "tenant" if player.is_tenant else "direct"
                told = "\n".join(map(repr, player.answers[-5:]))
                raise AssertionError(f"{self._where()}, {world}: {error}; told at last:\n{told}") from error
            found.append(player.comparable())
        for other in found[1:]:
            lines = differences(found[0], other)
            assert lines == [], "\n".join([f"{self._where()}:", *lines, *self._logs()])
        return True

    def await_equal_ends(self) -> None:
        """Wait until all worlds' partitions end alike: a new leader's high watermark is behind until others fetch."""
        deadline = time.monotonic() + SETTLED_S
        for topic in self.model.topics.values():
            for partition in range(topic.partitions):
                while len(ends := {log_end(one.admin, topic.name, partition) for one in self.players}) > 1:
                    assert time.monotonic() < deadline, f"{topic.name}-{partition} ends at {ends}"
                    time.sleep(0.05)

    def _logs(self) -> Iterator[str]:
        """Say what stands at the end of each partition in each world: base offset, records, C for a marker."""
        for topic in self.model.topics.values():
            for partition in range(topic.partitions):
                for player in self.players:
                    start = log_start(player.admin, topic.name, partition)
                    records = read_batches(records_of(player.admin, topic.name, partition, start))
                    ends = [f"{one.base_offset}+{one.record_count}{'C' * one.is_control}" for one in records]
                    where = "tenant" if player.is_tenant else "direct"
                    yield f"{topic.name}-{partition} {where}: {' '.join(ends[-6:])}"

    def _where(self) -> str:
        last = " ".join(self.played[-8:])
        return f"operation {len(self.played)} (the last were {last})"

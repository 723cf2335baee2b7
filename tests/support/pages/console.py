"""A person with Kafka's command-line tools at a cluster: their own, reached directly, or a tenant's behind a gateway.

What the tools print is made comparable: addresses, IDs and times are replaced by what they stand for, runs of blanks by
one. What belongs to others on the same brokers is left out of what is printed directly, and must not be in the rest.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bifrost.embedded.child import Child
from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.jars.java import find_java
from support.brokers.kafka_cluster import write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic
from support.java.tool_server import JVM_OPTIONS, ToolServer, tool_jars
from support.physical_names import MARK

OWNER_LENGTH = 6
"""Length of every world's name, in letters: records have the same size in all of them."""
TIMEOUT_MS = 10_000
"""How long a tool's client asks for what is not there; by default it would do so for a minute."""
SETTLE_S = 30.0
"""How long a state that must come may take."""

_TOOLS = "org.apache.kafka.tools"
TOPICS = f"{_TOOLS}.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
PRODUCER = f"{_TOOLS}.ConsoleProducer"
CONSUMER = f"{_TOOLS}.consumer.ConsoleConsumer"
SHARE_CONSUMER = f"{_TOOLS}.consumer.ConsoleShareConsumer"
CONSUMER_GROUPS = f"{_TOOLS}.consumer.group.ConsumerGroupCommand"
SHARE_GROUPS = f"{_TOOLS}.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = f"{_TOOLS}.streams.StreamsGroupCommand"
GROUPS = f"{_TOOLS}.GroupsCommand"
GET_OFFSETS = f"{_TOOLS}.GetOffsetShell"
DELETE_RECORDS = f"{_TOOLS}.DeleteRecordsCommand"
LOG_DIRS = f"{_TOOLS}.LogDirsCommand"
TRANSACTIONS = f"{_TOOLS}.TransactionsCommand"
CLUSTER = f"{_TOOLS}.ClusterTool"
LEADER_ELECTION = f"{_TOOLS}.LeaderElectionCommand"
REASSIGN_PARTITIONS = f"{_TOOLS}.reassign.ReassignPartitionsCommand"
ACLS = f"{_TOOLS}.AclCommand"
BROKER_API_VERSIONS = f"{_TOOLS}.BrokerApiVersionsCommand"
FEATURES = f"{_TOOLS}.FeatureCommand"
METADATA_QUORUM = f"{_TOOLS}.MetadataQuorumCommand"
CLIENT_METRICS = f"{_TOOLS}.ClientMetricsCommand"
DELEGATION_TOKENS = f"{_TOOLS}.DelegationTokenCommand"

_OPTIONS_LAST = {CLUSTER}
"""Tools that take the address after their subcommand."""
_INTERNAL = re.compile(MARK + r"|(?<![\w-])__[a-z]")
"""Names of Kafka's own topics begin so, and those of tenants as the brokers have them."""
_GROUP_HEADING = re.compile(r"GROUP +TOPIC +PARTITION\b")
"""Each group that is described has a table of its own."""
_PATTERNS = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    # A KIP-848 member ID is a Uuid in base 64, and so is a topic ID. (Our names have no capitals.)
    (re.compile(r"(?<!\S)(?=\S*[A-Z])[\w+/-]{22}(?!\S)"), "ID"),
    (re.compile(r'(?<="log_dirs":\[)"/[^\]]+'), "LOG-DIRS"),
    (re.compile(r"\[\d{4}-\d\d-\d\d [\d:,]+\]"), "TIME"),
)


@dataclass(frozen=True)
class Printed:
    """What a tool printed, comparable."""

    command: str
    status: int
    lines: tuple[str, ...]
    """Of standard output and then of standard error, sorted: much of the tools' order is that of hash tables."""

    def __contains__(self, text: str) -> bool:
        return text in "\n".join(self.lines)

    def __str__(self) -> str:
        return "\n".join([f"$ {self.command}: status {self.status}", *self.lines])


class Console:
    """One person at one cluster."""

    def __init__(
        self,
        owner: str,
        tools: ToolServer,
        endpoint: Endpoint,
        directory: Path,
        *,
        broker_ports: Sequence[int],
        cluster_ids: dict[str, str],
    ) -> None:
        """Sit down.

        Args:
            owner: whose cluster it is, in as many letters as every other.
            tools: the tools' JVM.
            endpoint: the cluster.
            directory: an empty one, for files that the tools take.
            broker_ports: what the cluster's brokers should advertise.
            cluster_ids: the ID that the cluster should have, and what it is to be called.
        """
        assert len(owner) == OWNER_LENGTH
        self.owner = owner
        self.endpoint = endpoint
        self.directory = directory
        self._tools = tools
        self._names = {str(directory): "DIRECTORY", endpoint.bootstrap: "ADDRESS"} | cluster_ids
        self._names |= {f"{endpoint.host}:{port}": "ADDRESS" for port in broker_ports}
        self._names |= {str(port): "PORT" for port in broker_ports}
        self._patterns = ((re.compile(rf"\b{owner}\b"), "OWNER"), *_PATTERNS)
        timeouts = dict.fromkeys(("request.timeout.ms", "default.api.timeout.ms"), str(TIMEOUT_MS))
        properties = {"client.id": "console"} | timeouts | endpoint.for_java
        self._properties = write_client_properties(directory / "client.properties", properties)
        self.printed: list[Printed] = []

    @property
    def is_tenant(self) -> bool:
        return self.endpoint.username is not None

    def __call__(
        self,
        tool: str,
        *args: str,
        prints: str = "",
        fails: str = "",
        made_up: Sequence[str] = (),
        stdin: str = "",
    ) -> Printed:
        """Run a tool, and note what it prints.

        Args:
            tool: one of the names above.
            args: its arguments; the address and the properties are added.
            prints: what must be in it when its status is 0 (some tools print an error and end so).
            fails: what must be in it when its status is another.
            made_up: columns of a table whose values are a time or a number that Kafka makes up.
            stdin: its standard input.
        """
        result = self._tools(tool, *self._words(tool, args), stdin=stdin, check=False)
        command = f"{tool.rpartition('.')[2]} {' '.join(args)}".replace(str(self.directory), "DIRECTORY")
        lines = self._comparable(_without(made_up, result.stdout + "\n" + result.stderr))
        printed = Printed(command, result.returncode, lines)
        assert (printed.status != 0) == bool(fails), f"{self.owner} {printed}"
        assert (prints or fails) in printed, f"{self.owner} {printed}"
        self.printed.append(printed)
        if tool == TOPICS and not fails and {"--create", "--alter"} & set(args):
            self._await_topic(args)
        return printed

    def _await_topic(self, args: Sequence[str]) -> None:
        """Wait until the broker has a topic as it was ordered: the tool returns when the controller has."""
        options = dict(pairwise(args))
        with RawClient.authenticated(self.endpoint) as client:
            await_topic(client, options["--topic"], int(options.get("--partitions", "1")))

    def until(self, text: str, tool: str, *args: str, made_up: Sequence[str] = ()) -> Printed:
        """Run a tool again and again until it prints `text`; only what it prints then counts."""
        return self._until(lambda printed: text in printed, tool, args, made_up)

    def until_gone(self, text: str, tool: str, *args: str) -> Printed:
        """Run a tool again and again until it does not print `text` any more; only what it prints then counts."""
        return self._until(lambda printed: text not in printed, tool, args, ())

    def _until(
        self, is_so: Callable[[Printed], bool], tool: str, args: Sequence[str], made_up: Sequence[str]
    ) -> Printed:
        deadline = time.monotonic() + SETTLE_S
        while not is_so(printed := self(tool, *args, made_up=made_up)):
            assert time.monotonic() < deadline, f"{self.owner} after {SETTLE_S} s still {printed}"
            self.printed.pop()
            time.sleep(0.2)
        return printed

    @contextmanager
    def running(self, tool: str, *args: str) -> Iterator[Child]:
        """Run a tool in a JVM of its own, as a consumer without an end, until the block ends."""
        options = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", tool, *self._words(tool, args)]
        environment = {**os.environ, "CLASSPATH": ":".join(map(str, tool_jars(DEFAULT_VERSION)))}
        command = [find_java(), *JVM_OPTIONS, *options]
        log_file = self.directory / f"{tool.rpartition('.')[2]}.log"
        child = Child(command, log_file=log_file, env=environment)
        try:
            yield child
        finally:
            child.stop()

    def _words(self, tool: str, args: Sequence[str]) -> list[str]:
        options = ["--bootstrap-server", self.endpoint.bootstrap, "--command-config", str(self._properties)]
        return [*args, *options] if tool in _OPTIONS_LAST else [*options, *args]

    def produce(self, topic: str, *values: str) -> None:
        """Write records of this owner, a batch for each.

        The value is the key too, so that each goes to the same partition everywhere.
        """
        reader = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
        lines = "".join(f"{value}:{self.owner} {value}\n" for value in values)
        self(PRODUCER, "--topic", topic, "--sync", *reader, "--command-property", "linger.ms=0", stdin=lines)

    def file(self, name: str, text: str) -> str:
        """Write a file for a tool, and return its path."""
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def _comparable(self, text: str) -> tuple[str, ...]:
        whole = [line for line in text.splitlines() if not line.startswith(("\tat ", "\t... "))]
        lines = map(self._replaced, self._own(map(self._replicas, whole)))
        return tuple(sorted(line for line in lines if line))

    def _own(self, lines: Iterable[str]) -> Iterator[str]:
        """Leave out what belongs to others: rows, and the heading of a table that has none but theirs."""
        heading = None
        for line in lines:
            if _GROUP_HEADING.match(line):
                heading = line
                continue
            if not line.strip():
                heading = None
            if self._is_own(line):
                if heading is not None:
                    yield heading
                    heading = None
                yield line

    def _is_own(self, line: str) -> bool:
        is_own = not _INTERNAL.search(line)
        assert is_own or not self.is_tenant, f"a tenant is shown {line!r}"
        return is_own

    def _replicas(self, line: str) -> str:
        """Sort what LogDirsCommand prints in one line; other lines stay as they are."""
        if not line.startswith('{"brokers"'):
            return line
        printed = json.loads(line)
        for log_dir in (log_dir for broker in printed["brokers"] for log_dir in broker["logDirs"]):
            replicas = sorted(log_dir["partitions"], key=lambda one: one["partition"])
            log_dir["partitions"] = [
                one for one in replicas if self.is_tenant or not _INTERNAL.match(one["partition"])
            ]
            log_dir["logDir"] = "LOG-DIR"
        return json.dumps(printed)

    def _replaced(self, line: str) -> str:
        for name, stands_for in self._names.items():
            line = line.replace(name, stands_for)
        for pattern, stands_for in self._patterns:
            line = pattern.sub(stands_for, line)
        # How wide columns are depends on what is in them.
        return " ".join(line.split())


def _without(columns: Sequence[str], text: str) -> str:
    """Return the rows of a table without the values of some columns."""
    places: list[int] = []
    lines = []
    for line in text.splitlines():
        cells = line.split()
        if set(columns) & set(cells):
            places = [place for place, cell in enumerate(cells) if cell in columns]
        elif places:
            cells = ["?" if place in places else cell for place, cell in enumerate(cells)]
        lines.append(" ".join(cells) if places else line)
    return "\n".join(lines)


Scenario = Callable[[Console], None]


def play_everywhere(scenario: Scenario, consoles: Sequence[Console]) -> list[Printed]:
    """Play a scenario at each cluster; what is printed must be the same, and is returned."""
    for console in consoles:
        console.printed = []
        scenario(console)
    first, *others = consoles
    for other in others:
        both = [
            [line for one in console.printed for line in str(one).splitlines()] for console in (first, other)
        ]
        different = "\n".join(difflib.unified_diff(*both, first.owner, other.owner, n=3, lineterm=""))
        assert not different, different
    return first.printed

"""A real Apache Kafka on this machine, for the demo and the tests: KRaft, one node or several.

Every node is broker and controller at once and listens on 127.0.0.1 alone, on ports that were free. The data is in a
temporary directory that `stop` removes. The jars and the JVM come from `bifrost.jars`; `child.py` ensures that
no JVM outlives this process. Do not run Kafka in production like this: nothing is secured.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bifrost.embedded.child import STOP_GRACE_S, Child, tail
from bifrost.embedded.errors import KafkaError
from bifrost.embedded.properties import (
    change_properties,
    cluster_properties,
    format_properties,
    random_id,
    read_properties,
)
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import broker_coordinates, resolve

DEFAULT_VERSION = "4.3.1"
START_TIMEOUT_S = 120.0
"""Time until every broker must answer. A start takes 2 s on an idle machine, and 25 s on a loaded one with three
brokers."""
THROWAWAY_GRACE_S = 3.0
"""Time for the nodes of a temporary cluster to stop in order, in seconds."""
PORT_ATTEMPTS = 4
"""How often all ports are chosen: another program can take a free port before Kafka binds it."""
SHORT_SESSION = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData", "-Xms64m")
"""JVM options that save start time and memory at the price of peak speed: 2.0 s for 2.8 s, half the CPU."""
_HOST = "127.0.0.1"
_MAX_RESPONSE_BYTES = 64 * 1024
"""More than Metadata about a few brokers takes; a program that answers more is no broker of this cluster."""
_ADDRESS_IN_USE = "Address already in use"


class _PortTakenError(KafkaError):
    """A port that was free when it was chosen is not any more."""


@dataclass(slots=True)
class _Node:
    node_id: int
    directory: Path
    port: int = 0
    controller_port: int = 0
    child: Child | None = None

    @property
    def properties_file(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log_dir(self) -> Path:
        """The directory of the partitions, which Kafka calls logs; it has no log lines."""
        return self.directory / "data"


class EmbeddedKafka:
    """A cluster of real brokers, as a context manager or by `start` and `stop`.

    Node IDs are 1 to `brokers`. Replication factors follow the number of brokers.
    """

    def __init__(
        self,
        version: str = DEFAULT_VERSION,
        *,
        brokers: int = 1,
        properties: Mapping[str, str] | None = None,
        data_dir: Path | None = None,
        heap_mb: int = 384,
        java_options: Sequence[str] = SHORT_SESSION,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Define the cluster; nothing is started yet.

        Args:
            version: Kafka's version; its broker jars must be locked (`locks/`).
            brokers: how many nodes; each is a JVM of its own.
            properties: server properties that override the defaults here, the same for each node.
            data_dir: where nodes keep data and logs, kept after `stop`; None: a temporary directory.
            heap_mb: largest heap of one node, in MiB.
            java_options: further JVM options.
            progress: called for each downloaded jar, see `locked_jars.resolve`.
        """
        self.version = version
        self._properties = dict(properties or {})
        self._heap_mb = heap_mb
        self._java_options = tuple(java_options)
        self._progress = progress
        self._data_dir = data_dir
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._brokers = brokers
        self.cluster_id = ""
        self._nodes: list[_Node] = []
        self._java_command = Path("java")
        self._class_path = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """`127.0.0.1:<port>` of each broker, separated by commas."""
        return ",".join(f"{_HOST}:{node.port}" for node in self._nodes)

    @property
    def node_ids(self) -> list[int]:
        """The node IDs of the cluster, running or not."""
        return [node.node_id for node in self._nodes]

    @property
    def pids(self) -> list[int]:
        """The process IDs of the brokers that were started and not stopped."""
        return [node.child.pid for node in self._nodes if node.child is not None]

    @property
    def is_running(self) -> bool:
        """Whether every broker that was started and not stopped is still alive."""
        return all(node.child.exit_status() is None for node in self._nodes if node.child is not None)

    @property
    def log_dirs(self) -> list[Path]:
        """Where each node keeps its partitions."""
        return [node.log_dir for node in self._nodes]

    @property
    def log_file(self) -> Path:
        """The file of what node 1 printed, warnings and errors."""
        return self.broker_log_file(1)

    def broker_log_file(self, node_id: int) -> Path:
        """Return the file of what one node printed, warnings and errors."""
        return self._node(node_id).directory / "kafka.log"

    def broker_port(self, node_id: int) -> int:
        """Return the port on which a broker listens, the same over its restarts."""
        return self._node(node_id).port

    def start(self) -> None:
        """Start every node and return when each of them knows all of them.

        Raises:
            JvmError: there is no Java that is new enough, or a jar is missing.
            EmbeddedError: Kafka did not start (the message ends with the log's last lines).
        """
        if self._nodes:
            raise KafkaError("this Kafka runs already")
        self._java_command = find_java()
        jars = resolve(broker_coordinates(self.version), progress=self._progress)
        self._class_path = ":".join(map(str, jars))
        try:
            self._make_nodes()
            self._start_nodes()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every node and remove the temporary directory. A second call does nothing."""
        running = [node.child for node in self._nodes if node.child is not None]
        for child in running:
            child.terminate()
        # Without a majority the last node would wait for a controller; temporary data makes that wait useless.
        grace_s = STOP_GRACE_S if self._temporary is None else THROWAWAY_GRACE_S
        for child in running:
            child.stop(grace_s)
        self._nodes = []
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def stop_broker(self, node_id: int) -> None:
        """Stop one node in order: it hands over its partitions first."""
        node = self._node(node_id)
        if node.child is not None:
            node.child.stop()
            node.child = None

    def kill_broker(self, node_id: int) -> None:
        """End one node at once, as a power cut would."""
        node = self._node(node_id)
        if node.child is not None:
            node.child.kill()
            node.child = None

    def start_broker(self, node_id: int, *, is_moved: bool = False) -> None:
        """Start a node that was stopped or killed, with the same data.

        Args:
            node_id: the node to start.
            is_moved: whether its port for clients changes.

        Raises:
            KafkaError: the node did not start.
        """
        node = self._node(node_id)
        if node.child is not None:
            raise KafkaError(f"node {node_id} runs already")
        if is_moved:
            with _held_port() as held:
                node.port = held.getsockname()[1]
            self._write_properties(node)
        node.child = self._launch(node)
        self._await_ready([node], START_TIMEOUT_S)

    def _node(self, node_id: int) -> _Node:
        return self._nodes[node_id - 1]

    def _make_nodes(self) -> None:
        if self._data_dir is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="bifrost-kafka-", ignore_cleanup_errors=True)
        base = self._data_dir or Path(self._temporary.name)  # type: ignore[union-attr]
        self._nodes = [_Node(number, base / f"node{number}") for number in range(1, self._brokers + 1)]
        for node in self._nodes:
            node.directory.mkdir(parents=True, exist_ok=True)

    def _start_nodes(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self._choose_ports()
            for node in self._nodes:
                self._write_properties(node)
                node.directory.joinpath("kafka.log").unlink(missing_ok=True)
            self._format_storage()
            for node in self._nodes:
                node.child = self._launch(node)
            try:
                self._await_ready(self._nodes, deadline - time.monotonic())
            except _PortTakenError:
                if attempt == PORT_ATTEMPTS:
                    raise
                for node in self._nodes:
                    self.kill_broker(node.node_id)
            else:
                return

    def _choose_ports(self) -> None:
        with contextlib.ExitStack() as held:
            for node in self._nodes:
                node.port = held.enter_context(_held_port()).getsockname()[1]
                node.controller_port = held.enter_context(_held_port()).getsockname()[1]

    def _write_properties(self, node: _Node) -> None:
        text = format_properties(self._server_properties(node))
        node.properties_file.write_text(text, encoding="utf-8")

    def _server_properties(self, node: _Node) -> dict[str, str]:
        voters = ",".join(f"{other.node_id}@{_HOST}:{other.controller_port}" for other in self._nodes)
        own = {
            "process.roles": "broker,controller",
            "node.id": str(node.node_id),
            "broker.rack": f"rack-{node.node_id}",
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://{_HOST}:{node.port},CONTROLLER://{_HOST}:{node.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{_HOST}:{node.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(node.log_dir),
        }
        return own | cluster_properties(self._brokers) | self._properties

    def _format_storage(self) -> None:
        """Format storage that is not formatted: node 1's by Kafka's tool, the others' as copies with their own IDs.

        Source: kafka.tools.StorageTool and MetaProperties: what differs between the nodes of a cluster with
        static voters is `node.id` and the random `directory.id`.
        """
        first = self._nodes[0]
        if not (first.log_dir / "meta.properties").exists():
            tool = ["kafka.tools.StorageTool", "format", "-t", random_id(), "-c", str(first.properties_file)]
            child = Child(self._java(tool), log_file=first.directory / "format.log", env=self._environment())
            if not child.wait(START_TIMEOUT_S) or child.exit_status() != 0:
                child.stop()
                raise KafkaError(f"Kafka {self.version} could not format its storage:\n{tail(child.log())}")
        meta = (first.log_dir / "meta.properties").read_text(encoding="utf-8")
        self.cluster_id = read_properties(meta)["cluster.id"]
        for node in self._nodes[1:]:
            if (node.log_dir / "meta.properties").exists():
                continue
            node.log_dir.mkdir(parents=True, exist_ok=True)
            for source in first.log_dir.glob("*.checkpoint"):
                node.log_dir.joinpath(source.name).write_bytes(source.read_bytes())
            changed = change_properties(meta, {"node.id": str(node.node_id), "directory.id": random_id()})
            node.log_dir.joinpath("meta.properties").write_text(changed, encoding="utf-8")

    def _java(self, main: Sequence[str]) -> list[str]:
        logger = "-Dorg.slf4j.simpleLogger."
        return [
            str(self._java_command),
            f"-Xmx{self._heap_mb}m",
            *self._java_options,
            f"{logger}defaultLogLevel=warn",
            f"{logger}showDateTime=true",
            f"{logger}dateTimeFormat=HH:mm:ss.SSS",
            *main,
        ]

    def _launch(self, node: _Node) -> Child:
        command = self._java(["kafka.Kafka", str(node.properties_file)])
        return Child(command, log_file=self.broker_log_file(node.node_id), env=self._environment())

    def _environment(self) -> dict[str, str]:
        # Not an argument: fifty paths would make a process list unreadable.
        return {**os.environ, "CLASSPATH": self._class_path}

    def _await_ready(self, nodes: Sequence[_Node], timeout_s: float) -> None:
        """Wait until each of `nodes` answers a Metadata request with every running broker."""
        deadline = time.monotonic() + timeout_s
        running = len(self.pids)
        for node in nodes:
            while node.child is not None and count_brokers(node.port, self.cluster_id) < running:
                status = node.child.exit_status()
                if status is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                log = node.child.log()
                if _ADDRESS_IN_USE in log:
                    raise _PortTakenError(f"a port of node {node.node_id} was taken by another program")
                what = "does not answer" if status is None else f"ended with status {status}"
                failed = f"Kafka {self.version}, node {node.node_id}, {what}"
                raise KafkaError(f"{failed}; the end of its log:\n{tail(log)}")


def count_brokers(port: int, cluster_id: str, timeout_s: float = 5.0) -> int:
    """Return how many live brokers the broker on `port` knows.

    Args:
        port: on 127.0.0.1.
        cluster_id: the cluster it should belong to; another program may have taken the port.
        timeout_s: for the connection and for the answer, each.
    Returns:
        0 if it does not answer (yet) or belongs to another cluster.
    """
    # Metadata v2, the first with a cluster ID: key, version, correlation ID, client ID, no topics.
    request = struct.pack(">hhihi", 3, 2, 1, 0, 0)
    try:
        with socket.create_connection((_HOST, port), timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            # Length, correlation ID and the number of brokers stand first in the response.
            length, _, brokers = struct.unpack(">iii", connection.recv(12, socket.MSG_WAITALL))
            rest = connection.recv(min(length, _MAX_RESPONSE_BYTES) - 8, socket.MSG_WAITALL)
    except (OSError, ValueError, struct.error):
        return 0
    return int(brokers) if cluster_id.encode("ascii") in rest else 0


def _held_port() -> socket.socket:
    """Return a socket bound to a port that no other program can use while the socket is open."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((_HOST, 0))
    return listener

"""Everything real of a run: brokers, the gateway, the victim, and beside them a relay with a sink behind it."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import sys
import time
import urllib.request
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from prometheus_client.parser import text_string_to_metric_families

from bench.certificates import HOST, make_certificate
from bench.client import RawClient
from bench.hostile.diary import Diary
from bench.hostile.features import add_features, start_control
from bench.hostile.field import Target
from bench.hostile.salted import salted_credential
from bench.laboratory import free_port, run_child
from bench.subjects import Subject, compiler_cpu_s_of, cpu_s_of
from bifrost.embedded.child import Child, tail
from bifrost.embedded.kafka import EmbeddedKafka, count_brokers
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ApiVersionsRequest, CreateTopicsRequest, MetadataRequest

VICTIM, ATTACKER = "victim", "attacker"
TOPIC = "orders"
PARTITIONS = 8
BROKER_PROPERTIES = {
    # So that a broker that stands still is fenced soon.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "log.retention.check.interval.ms": "5000",
    "log.segment.bytes": str(64 << 20),
    "log.retention.bytes": str(64 << 20),
}
HEAP_MB = 1024
JAVA_OPTIONS = (
    "-Xms1g",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:MaxInlineLevel=15",
    "-XX:-UsePerfData",
    "-XX:-UseDynamicNumberOfCompilerThreads",
)
"""The heap and the collector that Kafka's own scripts give a broker (kafka-server-start.sh, kafka-run-class.sh): while
garbage is collected all of a broker's threads stand still, and the victim feels that. The compiler's threads stay, so
that their CPU time can be told from the rest."""

METADATA_REFRESH_MS = 1000
MAX_CONNECTIONS = 2000
"""Fewer than by default, so that an attacker can take them all in seconds."""
MAX_CONNECTIONS_OF_TENANT = MAX_CONNECTIONS // 2
"""`max_connections_per_tenant` by default."""
READY_S = 30.0
SERVES_S = 10.0
"""Time in which a gateway has to answer a new connection once an attack is over."""
METRICS_S = 90.0

HAPROXY = """\
global
    nbthread 1
    maxconn 5000
defaults
    mode tcp
    timeout connect 10s
    timeout client 10m
    timeout server 10m
listen sink
    bind {host}:{port}
    server sink {host}:{sink_port}
"""

Metrics = dict[str, Counter[tuple[tuple[str, str], ...]]]
"""By the sample's name and labels."""


class Stage:
    """A context manager."""

    def __init__(
        self,
        directory: Path,
        brokers: int = 1,
        scale: float = 1.0,
        kafka: EmbeddedKafka | None = None,
        *,
        is_single: bool = False,
    ) -> None:
        """Start nothing yet; `kafka` is a cluster that runs, if there is one, `is_single`: at single addresses."""
        self._kafka, self._is_single = kafka, is_single
        self._directory, self._brokers, self._scale = directory, brokers, scale
        self._running = ExitStack()
        self.has_features = False
        """Of the next gateway: see `Attack`."""
        self._started = 0
        self._passwords = {name: secrets.token_hex(8) for name in (VICTIM, ATTACKER)}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self) -> None:
        self.certificate = make_certificate(self._directory)
        self.kafka = self._kafka or self._running.enter_context(
            EmbeddedKafka(
                brokers=self._brokers,
                heap_mb=HEAP_MB,
                properties=BROKER_PROPERTIES,
                java_options=JAVA_OPTIONS,
            )
        )
        self._start_relay()
        self._gateways = self._running.enter_context(ExitStack())
        self._start_gateway()
        self._topics = {one.user: make_topic(one) for one in (self._target(VICTIM), self._target(ATTACKER))}
        self._take_targets()
        self._start_victim()

    def _start_relay(self) -> None:
        """Start the control's way: HAProxy, or our own relay where it is not installed, and the sink behind it."""
        sink_port, self.relay_port = free_port(), free_port()
        sink = [sys.executable, "-m", "bench.hostile.sink", str(sink_port)]
        relay = [sys.executable, "-m", "bench.relay", str(self.relay_port), str(sink_port)]
        haproxy = shutil.which("haproxy")
        if haproxy is not None:
            config = self._new_file("haproxy.cfg")
            config.write_text(HAPROXY.format(host=HOST, port=self.relay_port, sink_port=sink_port))
            relay = [haproxy, "-f", str(config)]
        for port, command in ((sink_port, sink), (self.relay_port, relay)):
            run_child(self._running, command, port, self._new_file("log"))

    # -- the gateway

    def restart_gateway(self) -> None:
        """Begin anew with another one, which has other ports, and with the victim's connections to it."""
        self._gateways.close()
        self._start_gateway()
        self._take_targets()
        self._start_victim()

    def _start_gateway(self) -> None:
        step = 1 + self._brokers
        self._port = free_port(count=3 * step + 3)
        self._ports = [self._port + number * step for number in range(3)]
        self._admin_port = self._port + 3 * step
        self._more_ports = (self._admin_port + 1, self._admin_port + 2) if self.has_features else (0, 0)
        directory = self._directory / f"gateway{self._started}"
        directory.mkdir()
        for name, password in self._passwords.items():
            (directory / f"{name}.password").write_text(password)
        config = directory / "proxy.yaml"
        configuration = self._configuration()
        (own,) = (one for one in configuration["tenants"] if one["name"] == ATTACKER)
        own["auth"]["credentials"].append(salted_credential(directory, self._passwords[ATTACKER]))
        if self.has_features:
            add_features(configuration, ATTACKER, directory, *self._more_ports)
        config.write_text(json.dumps(configuration))  # JSON is YAML.
        command = [sys.executable, "-m", "bifrost.cli.main", "run", "--config", str(config)]
        self.gateway_log = self._new_file("gateway.log")
        self.gateway: Child = run_child(self._gateways, command, self._ports[0], self.gateway_log)
        self.subject = Subject("gateway", self._ports[0], [], self.gateway.pid)
        deadline = time.monotonic() + READY_S
        while (lost := self.unserved_port(1.0)) is not None:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the gateway serves no {lost}:\n{tail(self.gateway.log())}")
        if self.has_features:
            start_control(self._gateways, config, self._more_ports[1], self._new_file("control.log"))

    def _configuration(self) -> dict[str, Any]:
        def listener(name: str, port: int, protocol: str, **more: object) -> dict[str, object]:
            ports: dict[str, object] = {
                "bind_host": HOST,
                "advertised_host": HOST,
                "bootstrap_port": port,
            }
            if self._is_single:
                more["single_address"] = True
            else:
                ports["broker_port_range"] = {"start": port + 1, "end": port + self._brokers}
                ports["broker_id_base"] = 1
            return {"name": name, "security_protocol": protocol, "port_range": ports, **more}

        plain, tls, is_open = self._ports
        files = {
            "certificate_file": str(self.certificate.certificate_file),
            "key_file": str(self.certificate.key_file),
        }
        mechanisms = {"sasl_mechanisms": ["PLAIN", "SCRAM-SHA-256"]}
        return {
            "proxy": {
                "listener_sets": [
                    listener("plain", plain, "SASL_PLAINTEXT", **mechanisms),
                    listener("tls", tls, "SASL_SSL", tls=files, **mechanisms),
                    listener("open", is_open, "PLAINTEXT", tenant=ATTACKER),
                ],
                "journal": {},
                "admin": {"port": self._admin_port},
                "limits": {"metadata_refresh_ms": METADATA_REFRESH_MS, "max_connections": MAX_CONNECTIONS},
            },
            "upstream": {"bootstrap": self.kafka.bootstrap.split(",")},
            "tenants": [
                {
                    "name": name,
                    "allow_topic_deletion": True,
                    "auth": {"credentials": [{"username": name, "password_file": f"{name}.password"}]},
                }
                for name in self._passwords
            ],
        }

    def unserved_port(self, timeout_s: float = SERVES_S) -> str | None:
        """Return which bootstrap port does not answer a new connection; None: all do."""
        for name, port in zip(("plain", "tls", "open"), self._ports, strict=True):
            # The open port is the attacker's, and what it has asked for before is done first.
            deadline = time.monotonic() + timeout_s * (3 if name == "open" else 1)
            while not self._answers(name, port, timeout_s):
                if time.monotonic() > deadline or self.gateway.exit_status() is not None:
                    return name
                time.sleep(0.05)
        return None

    def _answers(self, name: str, port: int, timeout_s: float) -> bool:
        context = self.certificate.client_context() if name == "tls" else None
        try:
            client = RawClient(HOST, port, None, context, source="127.0.0.3", timeout_s=timeout_s)
            with contextlib.closing(client):
                request = ApiVersionsRequest(client_software_name="hostile", client_software_version="1")
                return client.request(request, 3).error_code == 0
        except ConnectionError:
            # That port is the attacker's, whose connections may still be there: the victim is not turned away.
            return name == "open" and self._has_all_places(ATTACKER)
        except OSError:
            return False

    def _has_all_places(self, tenant: str) -> bool:
        """Whether a tenant has as many connections as it may, so that another one is closed at once."""
        try:
            found = self.metrics().get("kafka_proxy_active_client_connections", Counter())
        except OSError:
            return False
        return found[("tenant", tenant),] >= MAX_CONNECTIONS_OF_TENANT

    def metrics(self) -> Metrics:
        """Ask the gateway what it has counted; the longest stalls begin anew."""
        url = f"http://{HOST}:{self._admin_port}/metrics"
        with urllib.request.urlopen(url, timeout=METRICS_S) as answer:
            text = answer.read().decode()
        found: Metrics = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, Counter())[tuple(sorted(sample.labels.items()))] = sample.value
        return found

    # -- the victim

    def _take_targets(self) -> None:
        self.victim_target, self.target = (
            replace(
                self._target(name),
                topic_id=self._topics[name][0],
                # All brokers are at the bootstrap port then.
                node_id=0 if self._is_single else self._topics[name][1],
            )
            for name in (VICTIM, ATTACKER)
        )

    def _target(self, name: str) -> Target:
        plain, tls, is_open = self._ports
        ca_file = str(self.certificate.certificate_file)
        password = self._passwords[name]
        port = self.kafka.broker_port(1)
        target = Target(plain, tls, is_open, ca_file, name, password, TOPIC, "", 1, 0, self._scale, port)
        single, control = self._more_ports
        return replace(target, single_port=single, control_port=control)

    def _start_victim(self) -> None:
        target = self.victim_target.write(self._new_file("victim.json"))
        self.victim_logs: list[Path] = []
        self.records, self.joins = (self._start_diary(kind, target) for kind in ("records", "joins"))

    def _start_diary(self, kind: str, target: Path) -> Diary:
        path = self._new_file(f"{kind}.diary")
        path.touch()
        command = [sys.executable, "-m", "bench.hostile.victim", kind, str(target), str(path)]
        self.victim_logs.append(self._new_file(f"{kind}.log"))
        child = Child(command, log_file=self.victim_logs[-1])
        self._gateways.callback(child.stop)
        diary = Diary(path)
        if not diary.await_due(0, READY_S, lambda: child.exit_status() is None):
            raise RuntimeError(f"the victim's {kind} do not work:\n{tail(child.log())}")
        return diary

    def victim_errors(self) -> str:
        """Return the last things that went wrong for the victim."""
        lines = [path.read_text().splitlines()[-1:] for path in self.victim_logs]
        return "; ".join(line[:200] for found in lines for line in found)

    def is_alive(self) -> bool:
        """Whether the gateway's process is there."""
        return self.gateway.exit_status() is None

    # -- the brokers

    def recover(self) -> None:
        """Begin anew with another gateway, and with other brokers if these do not serve any more."""
        if self.brokers_answer():
            try:
                self.restart_gateway()
            except (RuntimeError, OSError, AssertionError) as error:
                print(f"error   the gateway cannot be restarted: {error}", file=sys.stderr, flush=True)
            else:
                return
        if self._kafka is not None:
            raise RuntimeError("the brokers do not answer any more")
        self._running.close()
        self._start()

    def brokers_answer(self) -> bool:
        """Whether each broker answers within a few seconds, and knows all of them."""
        ports = [self.kafka.broker_port(one) for one in self.kafka.node_ids]
        cluster_id = self.kafka.cluster_id
        return all(count_brokers(port, cluster_id, SERVES_S) >= self._brokers for port in ports)

    def broker_cpu_s(self) -> float:
        """Return the brokers' CPU time without that of their compilers."""
        return sum(map(cpu_s_of, self.kafka.pids)) - self.compiler_cpu_s()

    def compiler_cpu_s(self) -> float:
        return sum(map(compiler_cpu_s_of, self.kafka.pids))

    def stop_brokers(self, number: int) -> None:
        """Send all brokers a signal: SIGSTOP or SIGCONT."""
        for pid in self.kafka.pids:
            os.kill(pid, signal.Signals(number))

    # -- files

    def new_file(self, suffix: str) -> Path:
        return self._new_file(suffix)

    def _new_file(self, suffix: str) -> Path:
        self._started += 1
        return self._directory / f"{self._started}.{suffix}"


def make_topic(target: Target) -> tuple[str, int]:
    """Create a tenant's topic through the gateway; return its ID and its first partition's leader once it has one."""
    client = RawClient(HOST, target.plain_port, target.credentials)
    with contextlib.closing(client):
        topic = CreateTopicsRequest.CreatableTopic(
            name=target.topic, num_partitions=PARTITIONS, replication_factor=-1
        )
        made = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 6)
        assert made.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), made
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=target.topic)])
            found = client.request(wanted, 12).topics[0]
            leads_first = found.partitions and all(one.error_code == 0 for one in found.partitions)
            if found.error_code == 0 and leads_first:
                leader = next(one.leader_id for one in found.partitions if one.partition_index == 0)
                return bytes(found.topic_id).hex(), int(leader)
            time.sleep(0.05)
    raise TimeoutError(f"{target.topic} has no leaders")

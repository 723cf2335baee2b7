"""The embedded Kafka and its tools, by themselves: everything else under this directory stands on them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bifrost.embedded.errors import KafkaError
from bifrost.embedded.kafka import EmbeddedKafka, count_brokers
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools


def test_tools_produce_and_consume(kafka: EmbeddedKafka, kafka_tool: KafkaTools) -> None:
    server = ["--bootstrap-server", kafka.bootstrap]
    kafka_tool(tools.TOPICS, *server, "--create", "--topic", "embedded-tools", "--partitions", "3")

    kafka_tool(tools.CONSOLE_PRODUCER, *server, "--topic", "embedded-tools", stdin="one\ntwo\nthree\n")
    consumed = kafka_tool(
        tools.CONSOLE_CONSUMER,
        *server,
        *(
            "--topic",
            "embedded-tools",
            "--from-beginning",
            "--max-messages",
            "3",
            "--group",
            "embedded-group",
        ),
    )

    assert sorted(consumed.stdout.split()) == ["one", "three", "two"]
    assert "embedded-group" in kafka_tool(tools.CONSUMER_GROUPS, *server, "--list").stdout.split()


def test_failing_tool_fails_the_test_with_its_output(kafka: EmbeddedKafka, kafka_tool: KafkaTools) -> None:
    arguments = ["--bootstrap-server", kafka.bootstrap, "--describe", "--topic", "embedded-absent"]

    with pytest.raises(AssertionError, match=r"embedded-absent.*does not exist"):
        kafka_tool(tools.TOPICS, *arguments)

    assert kafka_tool(tools.TOPICS, *arguments, check=False).returncode == 1


def test_listens_on_the_loopback_alone(kafka: EmbeddedKafka) -> None:
    process = psutil.Process(kafka.pids[0])

    listening = {c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN}

    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_port_of_another_cluster_is_not_taken_for_ours(kafka: EmbeddedKafka) -> None:
    assert count_brokers(kafka.broker_port(1), kafka.cluster_id) == 1
    assert count_brokers(kafka.broker_port(1), "another-cluster") == 0


def test_port_taken_in_the_meantime_is_chosen_anew_and_nothing_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = EmbeddedKafka._choose_ports
        chosen = []

        def choose(self: EmbeddedKafka) -> None:
            free(self)
            chosen.append(self.broker_port(1))
            if len(chosen) == 1:
                self._nodes[0].port = taken.getsockname()[1]

        monkeypatch.setattr(EmbeddedKafka, "_choose_ports", choose)
        with EmbeddedKafka() as kafka:
            process = psutil.Process(kafka.pids[0])
            directory = kafka.log_file.parent.parent
            assert len(chosen) == 2
            assert kafka.broker_port(1) == chosen[1]

    assert not process.is_running()
    assert not directory.exists()


def test_data_directory_keeps_the_data(tmp_path: Path, kafka_tool: KafkaTools) -> None:
    with EmbeddedKafka(data_dir=tmp_path) as kafka:
        first = kafka.cluster_id
        server = ["--bootstrap-server", kafka.bootstrap]
        kafka_tool(tools.TOPICS, *server, "--create", "--topic", "kept")

    with EmbeddedKafka(data_dir=tmp_path) as kafka:
        listed = kafka_tool(tools.TOPICS, "--bootstrap-server", kafka.bootstrap, "--list").stdout.split()

    assert kafka.cluster_id == first
    assert "kept" in listed


def test_start_failure_shows_the_end_of_the_log() -> None:
    kafka = EmbeddedKafka(properties={"log.retention.ms": "a while"})

    with pytest.raises(KafkaError, match=r"Kafka 4\.3\.1 could not.*\n.*log\.retention\.ms: Not a number"):
        kafka.start()

    assert kafka.pids == []


def test_killed_parent_takes_kafka_with_it() -> None:
    script = (
        "import time; from bifrost.embedded.kafka import EmbeddedKafka\n"
        "kafka = EmbeddedKafka(); kafka.start(); print(kafka.pids[0], kafka.log_file, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, log_file = parent.stdout.readline().split()
    jvm = psutil.Process(int(pid))

    parent.kill()
    parent.communicate()

    assert psutil.wait_procs([jvm], timeout=20)[1] == []
    # No process was left to remove it.
    directory = Path(log_file).parent.parent
    assert directory.name.startswith("bifrost-kafka-")
    subprocess.run(["rm", "-r", directory], check=True)


def test_three_brokers_one_of_them_killed(kafka_cluster: EmbeddedKafka, kafka_tool: KafkaTools) -> None:
    server = ["--bootstrap-server", kafka_cluster.bootstrap]
    kafka_tool(tools.TOPICS, *server, "--create", "--topic", "spread", "--partitions", "3")
    described = kafka_tool(tools.TOPICS, *server, "--describe", "--topic", "spread").stdout
    port = kafka_cluster.broker_port(2)

    kafka_cluster.kill_broker(2)
    deadline = time.monotonic() + 60
    while count_brokers(kafka_cluster.broker_port(1), kafka_cluster.cluster_id) != 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    kafka_cluster.start_broker(2)

    assert sorted(line.split("Leader: ")[1][0] for line in described.splitlines()[1:]) == ["1", "2", "3"]
    assert kafka_cluster.node_ids == [1, 2, 3]
    assert kafka_cluster.broker_port(2) == port
    assert count_brokers(port, kafka_cluster.cluster_id) == 3

"""Kafka's own command-line tools against any bootstrap address, for the tests.

The cluster itself is `bifrost.embedded.kafka.EmbeddedKafka`; the fixtures that start it are in `kafka/conftest.py`.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bifrost.embedded.child import Child
from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import resolve, tool_coordinates

CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CONFIGS = "kafka.admin.ConfigCommand"
BROKER_API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


class KafkaTools:
    """Runs a tool's main class in a JVM of its own (about a second each)."""

    def __init__(self, version: str = DEFAULT_VERSION, *, coordinates: Sequence[str] | None = None) -> None:
        """Resolve the tools' jars.

        Args:
            version: of the tools, when no coordinates are given.
            coordinates: other Maven coordinates for the class path; they must be locked.
        """
        self._java = find_java()
        self._jars = resolve(coordinates or tool_coordinates(version))

    def __call__(
        self, main_class: str, *args: str, stdin: str = "", timeout_s: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a tool to its end.

        Args:
            main_class: one of the names above, or another class of the jars.
            args: its arguments.
            stdin: its standard input.
            timeout_s: until it is killed, which fails the test.
            check: whether a status other than 0 fails the test; the message holds what the tool printed.
        """
        result = subprocess.run(
            self._command(main_class, args),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if check and result.returncode != 0:
            printed = (result.stdout + result.stderr)[-4000:]
            raise AssertionError(f"{main_class} {' '.join(args)}: status {result.returncode}\n{printed}")
        return result

    @contextmanager
    def running(self, main_class: str, *args: str) -> Iterator[Child]:
        """Run a tool in the background, as a consumer without an end; it is stopped on leaving.

        `Child.log()` gives what it has printed so far.
        """
        with tempfile.TemporaryDirectory(prefix="bifrost-tool-") as directory:
            child = Child(self._command(main_class, args), log_file=Path(directory) / "output")
            try:
                yield child
            finally:
                child.stop()

    def _command(self, main_class: str, args: Sequence[str]) -> list[str]:
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx256m"]
        logger = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [str(self._java), *quick, logger, "-cp", ":".join(map(str, self._jars)), main_class, *args]


def write_client_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write what a tool's `--command-config` takes, and return its path."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return path


def sasl_properties(username: str, password: str, mechanism: str = "PLAIN") -> dict[str, str]:
    """Return a Java client's properties for SASL by a password, without TLS."""
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    module = f"org.apache.kafka.common.security.{kind}LoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="{username}" password="{password}";',
    }

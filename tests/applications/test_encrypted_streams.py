"""Kafka Streams with exactly_once_v2 on encrypted topics: its own ones too, of which a changelog is compacted.

The word count is killed and loses its state, so it goes on with the values that it has sealed in its changelog.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, records_of
from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.java.streams_app import INPUT, OUTPUT, WordCount
from support.journal.records import read_committed, write_values
from support.physical_names import physical_name

TENANT = TenantSpec("corona", allow_topic_deletion=True)
APPLICATION = "sealed-count"
COUNTED_S = 90.0
LINES = [f"line {number} all secrets lead to kafka {'hello ' * (number % 3)}" for number in range(20)]


@pytest.fixture
def endpoint(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Endpoint]:
    key_file = write_key_file(tmp_path / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            encryption(key_file, INPUT, OUTPUT, "*-repartition", label="batches"),
            encryption(key_file, "*-changelog", label="values", mode="values"),
        ]

    directory = tmp_path / "gateway"
    directory.mkdir()
    with GatewayProcess(directory, kafka.bootstrap, tenants=[TENANT], adjust=adjust) as process:
        yield process.endpoint(TENANT.name)


@pytest.mark.timeout(300)
def test_word_count_exactly_once_and_nothing_readable(
    endpoint: Endpoint, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    direct = RawClient(Endpoint(HOST, kafka.broker_port(1)))
    for topic in (INPUT, OUTPUT):
        create_topic(direct, physical_name(TENANT.name, topic), 2)
    with WordCount(endpoint, APPLICATION, "classic", tmp_path) as application:
        write_values(endpoint, INPUT, [line.encode() for line in LINES[:10]])
        application.start()
        await_counts(endpoint, LINES[:10])
        application.kill()
        write_values(endpoint, INPUT, [line.encode() for line in LINES[10:]])
        application.lose_state()
        application.start()
        await_counts(endpoint, LINES)
        application.stop()

    internal = internal_topics(direct)
    assert sorted(one.rpartition("-")[2] for one in internal) == ["changelog", "repartition"]
    for topic in (physical_name(TENANT.name, INPUT), physical_name(TENANT.name, OUTPUT), *internal):
        readable = b"".join(records_of(direct, topic, partition) for partition in range(2))
        is_changelog = topic.endswith("-changelog")
        assert (b"secrets" in readable) == is_changelog, (
            "the keys of a compacted topic are readable, and only they"
        )
        assert b"line 1 all" not in readable
    direct.close()


def internal_topics(direct: RawClient) -> list[str]:
    found = direct.request(MetadataRequest(topics=None), 7).topics
    return [one.name for one in found if f"{TENANT.name}_{APPLICATION}-" in one.name]


def await_counts(endpoint: Endpoint, lines: list[str]) -> None:
    """Wait until every word was counted, and check that each was, and once."""
    words = Counter(word for line in lines for word in line.split())
    deadline = time.monotonic() + COUNTED_S
    while len(emitted := read_committed(endpoint, OUTPUT)) < words.total():
        assert time.monotonic() < deadline, f"{len(emitted)} of {words.total()} counts"
        time.sleep(0.2)
    counts: dict[str, list[int]] = {}
    for key, value in emitted:
        counts.setdefault(key.decode(), []).append(int.from_bytes(value, "big"))
    assert counts == {word: list(range(1, times + 1)) for word, times in words.items()}

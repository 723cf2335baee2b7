"""`bifrost pipeline meter` against a real Kafka, killed at random: its totals are the journal's, to the byte.

`make meter-kills` does it 20 times with many records, `make test` once with few: each start of Spark takes seconds. A
failure tells its seed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.metering.metered_tables import open_tables
from support.journal import quick_spark
from support.journal.journal_records import HOUR_MS, NOON_MS, Journal

KILLS = int(os.environ.get("BIFROST_METER_KILLS", "1"))
SEED = int(os.environ.get("BIFROST_METER_SEED", "0")) or random.randrange(1, 1 << 32)
RECORDS_PER_RUN = int(os.environ.get("BIFROST_METER_RECORDS", "60"))
RECORDS_PER_BATCH = RECORDS_PER_RUN * 3 // 5
TOPIC = "killed_journal"
"""Not where the gateways of other tests write."""
FIRST_BATCH_S = 60
"""How long a run may take on a busy machine until its first batch is done."""


@pytest.fixture(scope="module", autouse=True)
def journal(kafka: EmbeddedKafka) -> None:
    """The topic that is read."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, 3)]).values():
        created.result(20)


class Sender:
    """Writes a journal as gateways do in bad times: redelivered, late, out of order, now and then corrupt."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
        self._journals = [Journal(f"gw-{n}", epoch) for n in (1, 2) for epoch in (1, 2)]
        self._sent: list[dict[str, Any]] = []
        self.totals: Counter[tuple[str, str]] = Counter()
        self.rejected = 0

    def send(self, count: int) -> None:
        for _ in range(count):
            kind = self._random.random()
            if kind < 0.15 and self._sent:
                self._write(self._random.choice(self._sent))
            elif kind < 0.17:
                self.rejected += 1
                self._producer.produce(TOPIC, b'{"schema_version": 1, "kind":', b"acme")
            else:
                self._write(self._new())
        self._producer.flush()

    def _new(self) -> dict[str, Any]:
        tenant = self._random.choice(["acme", "globex", "initech"])
        end_ms = NOON_MS + self._random.randrange(30) * HOUR_MS + self._random.randrange(HOUR_MS)
        n_in, n_out = self._random.randrange(1 << 40), self._random.randrange(1 << 40)
        topic = self._random.choice(["a", "b"])
        record = self._random.choice(self._journals).topic(
            tenant, topic, end_ms, bytes_in=n_in, bytes_out=n_out
        )
        self.totals[tenant, topic] += n_in + n_out
        self._sent.append(record)
        return record

    def _write(self, record: dict[str, Any]) -> None:
        self._producer.produce(TOPIC, json.dumps(record).encode(), record["tenant"].encode())


def command(kafka: EmbeddedKafka, directory: Path, *more: str) -> list[str]:
    job = [sys.executable, "-m", "bifrost", "pipeline", "meter", "--bootstrap-servers", kafka.bootstrap]
    options = ["--topic", TOPIC, "--tables", str(directory), "--max-records", str(RECORDS_PER_BATCH)]
    spark = [
        "--master",
        "local[2]",
        "--driver-memory",
        "512m",
        "--shuffle-partitions",
        "1",
        "--trigger-s",
        "1",
    ]
    return [*job, *options, *spark, *quick_spark.arguments(), *more]


def run_and_kill(arguments: list[str], log: Path, wait_for_batches: int, then_s: float) -> None:
    """Start the job, kill it and its JVM some time after a batch, or after FIRST_BATCH_S without one."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments, stdout=output, stderr=subprocess.DEVNULL, start_new_session=True
        )
    deadline = time.monotonic() + FIRST_BATCH_S
    try:
        while log.read_text().count("batch=") < wait_for_batches and time.monotonic() < deadline:
            assert process.poll() is None, "the job ended by itself"
            time.sleep(0.1)
        time.sleep(then_s)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.timeout(300 + 90 * KILLS)
def test_killed_at_random_its_totals_are_the_journal_s(
    kafka: EmbeddedKafka, spark: SparkSession, tmp_path: Path
) -> None:
    print(f"seed {SEED}: BIFROST_METER_SEED={SEED} repeats this")  # noqa: T201 (shown when it fails)
    chance = random.Random(SEED)
    sender = Sender(kafka.bootstrap, SEED)
    for _ in range(KILLS):
        sender.send(RECORDS_PER_RUN)
        # In the middle of a batch, soon after one, and now and then before the first.
        waits = chance.choice([0, 1, 1, 2]) if KILLS > 1 else 1
        run_and_kill(command(kafka, tmp_path / "tables"), tmp_path / "log", waits, chance.uniform(0, 5))
    sender.send(RECORDS_PER_RUN // 2)
    subprocess.run(
        command(kafka, tmp_path / "tables", "--once"), check=True, stdout=subprocess.DEVNULL, timeout=300
    )

    tables = open_tables(spark, str(tmp_path / "tables"), "parquet")
    for table in ("usage_hourly", "usage_daily"):
        rows = tables.read(table).selectExpr("tenant", "topic", "produced_bytes + fetched_bytes AS bytes")
        found = rows.groupBy("tenant", "topic").sum("bytes").collect()
        assert {(row[0], row[1]): row[2] for row in found} == dict(sender.totals), f"seed {SEED}"
    assert tables.read("rejects").count() == sender.rejected, f"seed {SEED}"

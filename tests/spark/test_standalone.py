"""The jobs on a real standalone Spark master with two workers, as on a cluster; by `spark-submit` as well."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from bifrost.cli import pipeline
from bifrost.embedded.child import Child
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.spark.runtime import connector_jars, find_java_home
from support.journal.journal_records import Journal
from support.records.stored_batches import SECRET, Planter, write_keks

HOME = Path(pyspark.__file__).parent
WORKER_MEMORY = "512m"
START_TIMEOUT_S = 60
RUN_TIMEOUT_S = 300
"""Six JVMs on two cores: seconds where nothing else runs, minutes where much does."""


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("standalone")
    url = f"spark://127.0.0.1:{free_port()}"
    environment = os.environ | {
        "JAVA_HOME": str(find_java_home()),
        "SPARK_HOME": str(HOME),
        "SPARK_DAEMON_MEMORY": "128m",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    start = [str(HOME / "bin/spark-class"), "org.apache.spark.deploy"]

    def launch(name: str, kind: str, *arguments: str) -> Child:
        command = [start[0], f"{start[1]}.{kind}", "--host", "127.0.0.1", *arguments]
        return Child(command, log_file=folder / f"{name}.log", env=environment)

    with ExitStack() as stack:
        port = url.rpartition(":")[2]
        leader = launch("master", "master.Master", "--port", port, "--webui-port", "0")
        stack.callback(leader.stop, 5)
        for number in (1, 2):
            more = (
                "--webui-port",
                "0",
                "--cores",
                "1",
                "--memory",
                WORKER_MEMORY,
                "--work-dir",
                str(folder / f"w{number}"),
            )
            worker = launch(f"worker-{number}", "worker.Worker", *more, url)
            stack.callback(worker.stop, 5)
        deadline = time.monotonic() + START_TIMEOUT_S
        while leader.log().count("Registering worker") < 2:
            assert time.monotonic() < deadline, leader.log()
            time.sleep(0.2)
        yield url


@pytest.mark.timeout(700)
def test_meter_does_the_same_on_two_workers(
    master: str, spark: SparkSession, topic: Callable[..., DataFrame], tmp_path: Path
) -> None:
    journal = Journal()
    records = [journal.topic(tenant, "t", bytes_in=1) for tenant in ("acme", "globex") for _ in range(50)]
    topic(records + records[:10]).repartition(4).write.parquet(str(tmp_path / "journal"))
    spark_options = ["--master", master, "--driver-memory", "512m"]
    options = ["--files", str(tmp_path / "journal"), "--once"]
    small = ["--conf", "spark.executor.memory=450m", "--conf", "spark.driver.host=127.0.0.1"]
    named = ["--conf", "spark.sql.shuffle.partitions=2"]

    command = [
        sys.executable,
        "-m",
        "bifrost",
        "pipeline",
        "meter",
        *options,
        "--tables",
        str(tmp_path / "a"),
    ]
    subprocess.run(
        [*command, *spark_options, *small, *named], check=True, timeout=RUN_TIMEOUT_S, capture_output=True
    )
    submit = [
        str(HOME / "bin/spark-submit"),
        *spark_options,
        *small,
        *named,
        "--jars",
        ",".join(map(str, connector_jars())),
    ]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(find_java_home())}
    submitted = [*submit, str(pipeline.__file__), "meter", *options, "--tables", str(tmp_path / "b")]
    subprocess.run(submitted, check=True, timeout=RUN_TIMEOUT_S, capture_output=True, env=environment)

    for tables in ("a", "b"):
        daily = open_tables(spark, str(tmp_path / tables), "parquet").read("usage_daily")
        found = {row.tenant: row.produced_bytes for row in daily.collect()}
        assert found == {"acme": 50, "globex": 50}, tables


@pytest.mark.timeout(1000)
def test_batches_are_opened_and_sealed_on_two_workers_that_have_nothing_installed(
    master: str, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    """The compiled codec travels to the executors, whose Python has none; they read the key file by themselves."""
    bare = sys._base_executable  # type: ignore[attr-defined]
    without = subprocess.run([bare, "-c", "import bifrost"], capture_output=True, check=False)
    assert b"No module named" in without.stderr
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("old", 1), ("new", 2)))
    with planter.client:
        planter.create("standalone-sealed", 2)
        for partition in (0, 1):
            data = planter.batch("standalone-sealed", [SECRET] * 40, partition=partition)
            planter.plant("standalone-sealed", data, kek="old", partition=partition)
    packages = tmp_path / "jobs.tar.gz"
    environment = os.environ | {"PYSPARK_PYTHON": bare}
    bifrost = [sys.executable, "-m", "bifrost", "pipeline"]
    subprocess.run([*bifrost, "packages", "--out", str(packages)], check=True, timeout=RUN_TIMEOUT_S)
    spark_options = ["--master", master, "--driver-memory", "512m"]
    spark_options += ["--conf", "spark.executor.memory=450m", "--conf", "spark.driver.host=127.0.0.1"]
    brokers = ["--bootstrap-servers", kafka.bootstrap]
    keks = ["--open-with", f"file:{planter.keks}#old", "--kek", f"file:{planter.keks}#new"]

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*bifrost, *arguments, *brokers, *spark_options]
        return subprocess.run(
            command, timeout=RUN_TIMEOUT_S, capture_output=True, text=True, check=False, env=environment
        )

    def run(*arguments: str) -> str:
        done = ran(*arguments, "--packages", str(packages))
        assert done.returncode == 0, done.stderr
        return done.stdout

    lacking = ran("census", "--topic", "standalone-sealed", "--out", str(tmp_path / "none"))
    rekeyed = run(
        "rekey",
        "--topic",
        "standalone-sealed",
        "--to",
        "standalone-copy",
        *keks,
        "--out",
        str(tmp_path / "a"),
    )
    counted = run("census", "--topic", "standalone-copy", "--out", str(tmp_path / "b"))

    assert lacking.returncode == 1, lacking.stdout
    assert "No module named" in lacking.stderr
    assert "the same: 2 batches, 80 records in 2 partitions" in rekeyed
    assert "file:new version 2: 80 records" in counted

"""The commands as processes of their own: what is missing is one line that names the cure, not a trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from support.journal import quick_spark

CHATTER = ("WARNING: Using incubator modules", "Setting default log level", "To adjust logging level")
"""What the JVM and Spark print while they start, before anything of ours could stop them."""


def said(arguments: list[str], folder: Path, **environment: str) -> str:
    """Run `bifrost pipeline meter` where something is missing; return what it says."""
    command = [
        sys.executable,
        "-m",
        "bifrost",
        "pipeline",
        "meter",
        "--tables",
        str(folder / "tables"),
        "--once",
    ]
    done = subprocess.run(
        [*command, *arguments],
        env=os.environ | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert not (folder / "tables").exists()
    lines = [line for line in done.stderr.splitlines() if not line.startswith(CHATTER)]
    assert len(lines) == 1, lines
    return lines[0]


def test_a_missing_jdk_is_one_line_that_names_what_to_install(tmp_path: Path) -> None:
    line = said(["--files", "journal"], tmp_path, JAVA_HOME=str(tmp_path / "none"), PATH=os.devnull)

    assert line.startswith(
        "error: no JDK 17 to 23 for Spark: install one, e.g. apt install openjdk-17-jre-headless"
    )
    assert line.endswith(f"JAVA_HOME: {tmp_path}/none/bin/java does not run")


def test_a_missing_connector_is_one_line_that_names_the_setting(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = (tmp_path / "no-mirror").as_uri()

    line = said(
        ["--files", "journal"],
        tmp_path,
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        BIFROST_MAVEN_REPOSITORY=nowhere,
    )

    assert line.startswith("error: the connector of Spark cannot be had: cannot download ")
    assert line.endswith("; set BIFROST_MAVEN_REPOSITORY to a mirror if that is not to be reached")


def test_a_missing_topic_is_one_line_that_names_the_gateway_s_setting(
    spark: SparkSession, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    line = said(
        ["--bootstrap-servers", kafka.bootstrap, "--topic", "gone", *quick_spark.arguments()], tmp_path
    )

    assert line == (
        f"error: no topic gone at {kafka.bootstrap}: "
        "switch on the gateway's journal (docs/journal.md), or name its --topic"
    )

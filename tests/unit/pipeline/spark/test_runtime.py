import os
from pathlib import Path

import pytest

from bifrost.jars.errors import JarError
from bifrost.jars.locked_jars import read_lock
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark import runtime


def java(home: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


def only(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", os.devnull)


def test_the_connectors_are_locked_and_of_pyspark_s_release() -> None:
    jars = {jar.coordinate for jar in read_lock(runtime.connector_coordinates())}

    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{runtime.SPARK_VERSION}" in jars
    assert not any("hadoop" in one or "scala-library" in one for one in jars), "PySpark brings them itself"


def test_a_jdk_that_spark_runs_on_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = java(tmp_path / "jdk", "17.0.15")
    only(monkeypatch, home)

    assert runtime.find_java_home() == home


@pytest.mark.parametrize(
    ("version", "modules", "reason"),
    [
        ("11.0.2", "jdk.incubator.vector", "is Java 11"),
        ("25.0.1", "jdk.incubator.vector", "is Java 25"),
        ("21.0.8", "java.base", "lacks the module jdk.incubator.vector"),
    ],
)
def test_one_it_does_not_run_on_is_named_with_the_cure(
    version: str, modules: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, java(tmp_path / "jdk", version, modules))

    with pytest.raises(PipelineError, match=reason) as caught:
        runtime.find_java_home()
    assert "apt install openjdk-17" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_any_java_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, tmp_path / "none")

    with pytest.raises(PipelineError, match="no JDK 17 to 23"):
        runtime.find_java_home()


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)

    with pytest.raises(PipelineError, match=r"pip install '\.\[pipeline\]' in a clone of Bifrost"):
        runtime.check_pyspark()


def test_another_pyspark_than_the_connectors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.1.0")

    with pytest.raises(PipelineError, match=r"PySpark is 4\.1\.0, the connectors are of 4\.0\.0"):
        runtime.check_pyspark()


def test_a_jar_that_cannot_be_had_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_coordinates: list[str], progress: object = None) -> list[Path]:
        raise JarError("cannot download x: set BIFROST_MAVEN_REPOSITORY")

    monkeypatch.setattr(runtime, "resolve", fail)

    with pytest.raises(PipelineError, match="connector of Spark cannot be had: cannot download x"):
        runtime.connector_jars()

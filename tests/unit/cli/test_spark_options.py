import inspect

import pytest
import typer
from typer.testing import CliRunner

from bifrost.cli.pipeline import pipeline
from bifrost.cli.spark_options import read_spark_options, with_spark_options
from bifrost.pipeline.spark.spark_session import SparkOptions

COMMANDS = {one.callback.__name__: one.callback for one in pipeline.registered_commands if one.callback}
WITHOUT_SPARK = {"verify", "jars", "packages"}
given: list[tuple[str, SparkOptions]] = []
app = typer.Typer()


@app.command()
@with_spark_options
def job(spark_options: SparkOptions, out: str = "") -> None:
    given.append((out, spark_options))


def test_a_command_gets_the_options_as_one_object() -> None:
    given.clear()

    arguments = ["--out", "o", "--master", "local[2]", "--driver-memory", "2g", "--shuffle-partitions", "3"]
    arguments += ["--table-format", "delta", "--conf", "spark.a=1", "--conf", "spark.b=x=y"]

    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 0, result.output
    settings = {"spark.a": "1", "spark.b": "x=y"}
    assert given == [("o", SparkOptions("local[2]", "2g", 3, "delta", settings))]


def test_a_command_without_options_runs_with_the_defaults_of_the_session() -> None:
    given.clear()

    assert CliRunner().invoke(app, []).exit_code == 0

    assert given == [("", SparkOptions())]


def test_a_setting_without_a_value_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match=r"'spark\.a' is no KEY=VALUE"):
        read_spark_options(conf=["spark.a"])


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - WITHOUT_SPARK))
def test_every_job_declares_the_same_options(name: str) -> None:
    shared = inspect.signature(read_spark_options).parameters
    declared = inspect.signature(COMMANDS[name]).parameters

    assert list(declared)[-len(shared) :] == list(shared)
    assert all(declared[one] == shared[one] for one in shared)

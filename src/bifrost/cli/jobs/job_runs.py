"""How every job of the pipeline is run: its session, its errors and their exit status, its files of properties."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bifrost.config.errors import ConfigError
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.metering.journal_topic import read_properties
from bifrost.pipeline.spark.runtime import check_pyspark
from bifrost.pipeline.spark.spark_session import SparkOptions, build_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOUND = 3
"""Exit status: an exception, a certificate that is not as it was signed, or plaintext that must not be."""


@contextmanager
def job_session(command: str, options: SparkOptions) -> Iterator["SparkSession"]:
    """Start Spark for a command, and stop it in the end."""
    session = build_session(f"bifrost pipeline {command}", options)
    try:
        yield session
    finally:
        session.stop()


def run_job(job: Callable[[], int | None]) -> None:
    """Run a job; an error is one line on standard error."""
    try:
        check_pyspark()
        status = job() or 0
    except ConfigError as error:
        typer.echo(str(error), err=True)
        status = 2
    except PipelineError as error:
        typer.echo(f"error: {error}", err=True)
        status = 1
    except KeyboardInterrupt:
        status = 130
    raise typer.Exit(status)


def say(text: str) -> None:
    """Tell how far a job has come."""
    typer.echo(text, err=True)


def client_properties(path: Path | None) -> dict[str, str]:
    """Return the settings of `--kafka-config`.

    Raises:
        typer.BadParameter: the file cannot be read or is malformed.
    """
    if path is None:
        return {}
    try:
        return read_properties(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise typer.BadParameter(f"{path}: {reason}", param_hint="--kafka-config") from None

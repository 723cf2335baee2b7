"""`bifrost run`: a gateway from a configuration file, until SIGINT or SIGTERM.

Exit status: 0 told to stop, 1 could not start, 2 the configuration or the command line is wrong.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class LogFormat(StrEnum):
    """How log lines are written."""

    PLAIN = "plain"
    JSON = "json"


class LogLevel(StrEnum):
    """The least severe level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def worker_command(log_format: LogFormat, log_level: LogLevel) -> list[str]:
    """Return the command that starts a worker, which logs as this process does.

    It must not import from the current directory (-P), as this process does not when it is run by its script.
    """
    return [sys.executable, "-P", "-m", "bifrost.cli.worker", log_format, log_level]


def run(
    config: Annotated[
        Path,
        typer.Option("--config", "-c", help="The configuration file; docs/configuration.md explains it."),
    ],
    log_format: Annotated[
        LogFormat, typer.Option(help="plain: a line of key=value; json: an object a line.")
    ] = LogFormat.PLAIN,
    log_level: Annotated[LogLevel, typer.Option(help="The least severe level to write.")] = LogLevel.INFO,
) -> None:
    """Run a gateway until it is told to stop (Ctrl-C, SIGTERM)."""
    from bifrost.cli.logs import configure_logs

    # First of all, for importing structlog without Rich takes a hand.
    configure_logs(log_format == LogFormat.JSON, log_level)

    from bifrost.config.errors import ConfigError
    from bifrost.config.load import load

    try:
        loaded = load(config)
    except ConfigError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None

    from bifrost.gateway.errors import StartError
    from bifrost.gateway.gateway import run as run_gateway

    try:
        status = run_gateway(loaded, config, worker_command(log_format, log_level))
    except StartError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(status)

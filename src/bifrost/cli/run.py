"""`bifrost run`: run a gateway with a configuration file, until SIGINT or SIGTERM.

Exit status: 0 it was told to stop, 1 it could not start, 2 the configuration or the command line is wrong. With
`--log-format json` the reason is a line of the log, as a collector of logs expects; else it is plain text.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bifrost.config.model import Config


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


@dataclass(frozen=True)
class RunArguments:
    """The options of `bifrost run`."""

    config: Path
    log_format: LogFormat = LogFormat.PLAIN
    log_level: LogLevel = LogLevel.INFO


_OPTIONS = {"-c": "config", "--config": "config", "--log-format": "log_format", "--log-level": "log_level"}


def read_arguments(arguments: Sequence[str]) -> RunArguments | None:
    """Read a command line that is `run` with options, each at most once and with a valid value.

    Returns:
        The options; None when it is another command or wrong: `commands.py` handles and explains those.
    """
    command, *words = arguments or ("",)
    found: dict[str, str] = {}
    while words:
        option, equals, value = words.pop(0).partition("=")
        if not equals and words:
            value = words.pop(0)
        name = _OPTIONS.get(option)
        # click reads `-c=x` as the file "=x".
        if name is None or name in found or not value or value.startswith("-") or (equals and option == "-c"):
            return None
        found[name] = value
    if command != "run" or "config" not in found:
        return None
    try:
        return RunArguments(
            Path(found["config"]),
            LogFormat(found.get("log_format", LogFormat.PLAIN)),
            LogLevel(found.get("log_level", LogLevel.INFO)),
        )
    except ValueError:
        return None


MOST_NAMED = 5
"""Files of secrets that a warning names; there may be thousands."""


def worker_command(log_format: LogFormat, log_level: LogLevel) -> list[str]:
    """Return the command that starts a worker, which logs as this process does.

    The worker must not import from the current directory (-P); neither does this process when its script runs it.
    """
    return [sys.executable, "-P", "-m", "bifrost.cli.worker", log_format, log_level]


def serve(asked: RunArguments) -> int:
    """Run a gateway until it is told to stop; return the process's exit status."""
    from bifrost.cli.lean_imports import lean_pydantic
    from bifrost.cli.logs import configure_logs

    # Before other imports: structlog must be imported without Rich (lean_imports.py).
    configure_logs(asked.log_format == LogFormat.JSON, asked.log_level)

    from bifrost.config.errors import ConfigError

    with lean_pydantic():
        from bifrost.config.config_source import SALT_KEY_BYTES, ConfigFiles

    source = ConfigFiles(asked.config, os.urandom(SALT_KEY_BYTES))
    try:
        loaded = source.read()
    except ConfigError as error:
        _say(asked, [str(problem) for problem in error.problems])
        return 2
    asked = _as_configured(asked, loaded)
    _warn_of_exposed(source.exposed(loaded))

    from bifrost.gateway.errors import StartError
    from bifrost.gateway.workers.processes import run as run_gateway

    try:
        return run_gateway(loaded, source, worker_command(asked.log_format, asked.log_level))
    except StartError as error:
        _say(asked, [str(error)], "error: ")
        return 1


def _as_configured(asked: RunArguments, loaded: "Config") -> RunArguments:
    """Log as the files say where the options are the default ones, and log what differs from what the files say."""
    settings = loaded.process
    if settings is None:
        return asked
    from bifrost.cli.logs import configure_logs

    as_json = settings.log_as_json or asked.log_format == LogFormat.JSON
    level = LogLevel(settings.log_level) if asked.log_level == LogLevel.INFO else asked.log_level
    asked = replace(asked, log_format=LogFormat.JSON if as_json else LogFormat.PLAIN, log_level=level)
    configure_logs(as_json, level)
    log = _log()
    for notice in settings.notices:
        log.warning("setting_differs", detail=notice)
    return asked


def _warn_of_exposed(files: Sequence[str]) -> None:
    """Warn once of all files of secrets that others can read."""
    if not files:
        return
    from bifrost.config.files.exposed_files import REMEDY

    log = _log()
    named = files[:MOST_NAMED]
    log.warning("secrets_exposed", files=named, more=len(files) - len(named) or None, detail=REMEDY)


def _say(asked: RunArguments, reasons: Sequence[str], head: str = "") -> None:
    """Write why the gateway does not start, each reason as a line."""
    if asked.log_format != LogFormat.JSON:
        sys.stderr.write("".join(f"{head}{reason}\n" for reason in reasons))
        return
    log = _log()
    for reason in reasons:
        log.error("not_started", error=reason)


def _log() -> Any:
    """Return the log, which `serve` has configured."""
    from bifrost.cli.lean_imports import import_structlog

    return import_structlog().get_logger()

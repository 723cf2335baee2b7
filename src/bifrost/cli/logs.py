"""Log lines on standard error, one event a line.

    2026-11-21T10:00:00.000000Z warning connection_ended reason=not_kafka peer=10.0.0.7:51234

`--log-format json` writes the same as an object with the keys `timestamp`, `level` and `event`. Values may contain text
that a peer chose (a client ID, a host name), so characters that could begin a new line or control a terminal are
escaped. Of bytes only their number is shown, because records and passwords are bytes. Lines that other libraries log
(asyncio) are written in the same way.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from bifrost.cli.lean_imports import import_structlog

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_BARE = re.compile(r"[A-Za-z0-9_.:/@%+*,\[\]{}()<>$#!?;|~^&-]+")


def configure_logs(as_json: bool, level: str, worker: int | None = None) -> None:
    """Send structlog's events, and those of the standard library's logging, to standard error.

    Args:
        as_json: whether a line is a JSON object, or plain text.
        level: the least severe level written: debug, info, warning, error.
        worker: the number of this process, where there are several; every line contains it.
    """
    structlog = import_structlog()
    least = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            *(() if worker is None else (_name_worker(worker),)),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,  # the trace alone: no values of local variables
            hide_bytes,
            render_json if as_json else render_plain,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=_StandardError,
    )
    logging.basicConfig(level=least, handlers=[_Forwarder(structlog.get_logger())], force=True)


def _name_worker(worker: int) -> Any:
    def name(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.setdefault("worker", worker)
        return event

    return name


def hide_bytes(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace bytes by their number."""
    for key, value in event.items():
        if isinstance(value, bytes | bytearray | memoryview):
            event[key] = f"<{len(value)} bytes>"
    return event


def render_json(logger: object, method: str, event: Mapping[str, Any]) -> str:
    """Return an event as one JSON object, in ASCII."""
    return json.dumps(dict(event), default=repr)


def render_plain(logger: object, method: str, event: Mapping[str, Any]) -> str:
    """Return an event as `time level event key=value ...`; keys without a value are left out.

    A trace follows on lines of its own, indented, so that no text in it looks like an event.
    """
    fields = dict(event)
    trace = fields.pop("exception", None)
    head = [fields.pop("timestamp", ""), fields.pop("level", ""), _one_line(str(fields.pop("event", "")))]
    pairs = [f"{key}={_plain(value)}" for key, value in fields.items() if value is not None]
    line = " ".join([*head, *pairs])
    if trace is None:
        return line
    return "\n".join([line, *(f"    {_one_line(part)}" for part in str(trace).splitlines())])


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text)


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


class _StandardError:
    """Writes structlog's lines to standard error. A reader that has closed the pipe does not stop the gateway."""

    def __init__(self, *args: object) -> None:
        pass

    def write(self, line: str) -> None:
        try:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass

    debug = info = warning = error = critical = exception = log = msg = write


class _Forwarder(logging.Handler):
    """Hands the standard library's log records to structlog."""

    def __init__(self, logger: "FilteringBoundLogger") -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, with the name of its logger."""
        self._logger.log(
            record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info or None
        )

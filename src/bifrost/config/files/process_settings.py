"""What a configuration says to the process that reads it, and not to the gateway: its log, and what differs here."""

from typing import Literal, NamedTuple


class ProcessSettings(NamedTuple):
    """The settings of the process that a file of a partition remapper has."""

    log_level: Literal["debug", "info", "warning", "error"]
    """The least severe level that is logged."""

    log_as_json: bool
    """Whether a log line is a JSON object."""

    notices: tuple[str, ...]
    """What the file says and the gateway does differently, each with its file and line."""

"""What becomes of records when a filter fails: the key `fail` of the filters that can."""

from enum import StrEnum

from bifrost.config.section import Section


class FailMode(StrEnum):
    """What becomes of records about which a filter could not tell."""

    CLOSED = "closed"
    OPEN = "open"
    QUARANTINE = "quarantine"


class FailureConfig(Section):
    """What a filter does when it fails."""

    fail: FailMode = FailMode.CLOSED
    """Of `SchemaValidator` and `PythonTransform`: what becomes of records while the registry gives no answer about
    their schema, or when the function fails. `closed`: they are refused, with an error that clients retry where the
    cause may pass. `open`: they pass as they are, and are counted. `quarantine` is not built yet. Default `closed`."""


def check_failure(config: FailureConfig) -> None:
    """Check that this can be done.

    Raises:
        ValueError: it is not built yet.
    """
    if config.fail is FailMode.QUARANTINE:
        raise ValueError("fail: quarantine is not built yet: choose closed or open")

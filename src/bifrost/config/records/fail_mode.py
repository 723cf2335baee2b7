"""What becomes of records when a filter refuses them or fails: the keys of the filters that can."""

from enum import StrEnum

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import TopicName


class FailMode(StrEnum):
    """What becomes of records about which a filter could not tell."""

    CLOSED = "closed"
    OPEN = "open"
    QUARANTINE = "quarantine"


class FailureConfig(Section):
    """What a filter does when it refuses records, or fails."""

    fail: FailMode = FailMode.CLOSED
    """Of `SchemaValidator` and `PythonTransform`: what becomes of records while the registry gives no answer about
    their schema, while the process that reads large ones is away, or when the function fails. `closed`: they are
    refused, with an error that clients retry where the cause may pass. `open`: they pass as they are, and are counted.
    `quarantine`: they are written to `quarantine_topic` and refused for good. Default `closed`."""

    quarantine_topic: TopicName | None = Field(default=None, examples=["orders-quarantine"])
    """Of `SchemaValidator` and `PythonTransform`, on produce: a topic to which the gateway writes the records that it
    refuses for good, with the reason in headers. It is the tenant's own, by the name that the same clients would use,
    and has to exist. Default: the key is absent, and refused records are with their producer alone."""


def check_failure(config: FailureConfig) -> None:
    """Check what needs more than one key.

    Raises:
        ValueError: something is missing.
    """
    if config.fail is FailMode.QUARANTINE and config.quarantine_topic is None:
        raise ValueError("fail: quarantine needs quarantine_topic")

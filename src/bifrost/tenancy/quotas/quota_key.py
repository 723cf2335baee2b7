"""The keys of quotas for users and client IDs, and which values they take.

Source: org.apache.kafka.server.config.QuotaConfig; the checks and texts of ClientQuotaControlManager.
"""

import math
from enum import StrEnum, unique

_MAX_LONG = 2.0**63
"""What Java's Long.MAX_VALUE becomes as a double."""

_WHOLE = 1e-6
"""How far from a whole number a value of an integral key may be."""


@unique
class QuotaKey(StrEnum):
    """Kafka's name of a quota."""

    PRODUCER_BYTE_RATE = "producer_byte_rate"
    """Bytes per second of Produce requests."""

    CONSUMER_BYTE_RATE = "consumer_byte_rate"
    """Bytes per second of Fetch responses."""

    REQUEST_PERCENTAGE = "request_percentage"
    """Time of requests, in percent of one thread's."""

    CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
    """Partitions that are created or deleted per second (KIP-599)."""

    REQUEST_RATE = "request_rate"
    """Requests per second. Only the operator gives it: Kafka has no such quota."""

    CONNECTION_CREATION_RATE = "connection_creation_rate"
    """New connections per second. Only the operator gives it, to whole namespaces; Kafka has it for IP addresses
    (KIP-612)."""

    @property
    def is_operators(self) -> bool:
        """Whether only the operator gives it."""
        return self in (QuotaKey.REQUEST_RATE, QuotaKey.CONNECTION_CREATION_RATE)

    @property
    def is_integral(self) -> bool:
        """Whether its values are whole numbers."""
        return self in (QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE)


def refuse_value(key: str, value: float) -> str | None:
    """Return why a quota for a user or a client ID is refused, in Kafka's words; None: it is not.

    Kafka takes infinity and what is not a number for some keys; they limit nothing, and here they are refused.
    """
    if key not in set(QuotaKey) or QuotaKey(key).is_operators:
        return f"Invalid configuration key {key}"
    if value <= 0.0:
        return f"Quota {key} must be greater than 0"
    if QuotaKey(key).is_integral:
        if value > _MAX_LONG:
            return f"Proposed value for {key} is too large for a LONG."
        if value % 1.0 > _WHOLE:
            return f"{key} cannot be a fractional value."
    if not math.isfinite(value):
        return f"Quota {key} must be a finite number"
    return None

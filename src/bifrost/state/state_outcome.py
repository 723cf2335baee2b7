"""What became of a change of the state that a client's request asked for, and how Kafka says so."""

from dataclasses import dataclass
from enum import StrEnum, unique

from bifrost.wire.error_codes import ErrorCode


@unique
class OutcomeKind(StrEnum):
    """What became of a change; the value is its label in the metrics."""

    DONE = "done"
    """It is committed, and the models of this process have it."""
    CONFLICT = "conflict"
    """A key is not as the request has seen it: another writer was first. Nothing was written."""
    TOO_LARGE = "too_large"
    """It, or the state with it, would be larger than a limit. Nothing was written."""
    BUSY = "busy"
    """Too many changes of the tenant wait. Nothing was written."""
    UNAVAILABLE = "unavailable"
    """The brokers do not take it, or the state cannot be read. Nothing was written."""
    UNKNOWN = "unknown"
    """The brokers do not say whether it is committed. A reader of the state will see it if it is."""
    OFF = "off"
    """The gateway has no state. Nothing was written."""


_TOLD: dict[OutcomeKind, tuple[ErrorCode, str | None]] = {
    OutcomeKind.DONE: (ErrorCode.NONE, None),
    OutcomeKind.CONFLICT: (ErrorCode.INVALID_UPDATE_VERSION, "It was changed at the same time. Try again."),
    OutcomeKind.TOO_LARGE: (ErrorCode.POLICY_VIOLATION, "The gateway's state has no room for it."),
    OutcomeKind.BUSY: (ErrorCode.REQUEST_TIMED_OUT, "Too many changes of this tenant wait. Try again later."),
    OutcomeKind.UNAVAILABLE: (
        ErrorCode.REQUEST_TIMED_OUT,
        "The gateway could not write its state. Nothing was changed.",
    ),
    OutcomeKind.UNKNOWN: (
        ErrorCode.REQUEST_TIMED_OUT,
        "It is not known whether the change was made. Look before you try again.",
    ),
    OutcomeKind.OFF: (
        ErrorCode.UNSUPPORTED_VERSION,
        "The gateway has no state to store this in: its configuration needs the section proxy.state.",
    ),
}


@dataclass(frozen=True, slots=True)
class StateOutcome:
    """What became of a change."""

    kind: OutcomeKind
    detail: str = ""
    """More, for the log. Not for clients: it may name processes of the gateway."""

    @property
    def is_done(self) -> bool:
        """Whether the change was made."""
        return self.kind is OutcomeKind.DONE

    @property
    def error_code(self) -> ErrorCode:
        """Kafka's code, for an API that has none of its own for this."""
        return _TOLD[self.kind][0]

    @property
    def message(self) -> str | None:
        """The text for a client; None when there is no error."""
        return _TOLD[self.kind][1]


DONE, OFF = StateOutcome(OutcomeKind.DONE), StateOutcome(OutcomeKind.OFF)

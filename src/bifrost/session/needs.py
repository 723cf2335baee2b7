"""What a session's messages wait for, beside what filters need (filters/steps.py).

A message that waits is the first of the held frames of its direction (held_frames.py), which has the need. The shell
sees to it that the need is met and calls `ClientSession.meet`. It does nothing for a BrokerAnswer: the session has sent
the broker a request of its own, and sees the answer come.
"""

from typing import TYPE_CHECKING, final

from bifrost.filters.steps import TURN, Need, Turn

if TYPE_CHECKING:
    from bifrost.authentication.accounts import PasswordCheck


@final
class IssuerKeys(Need):
    """The keys of a token's issuer, which are being fetched."""

    __slots__ = ()


@final
class PasswordChecked(Need):
    """The result of a check of a password that takes milliseconds: the shell runs it, but not on the event loop."""

    __slots__ = ("check",)

    def __init__(self, check: "PasswordCheck") -> None:
        """Wait until `check` has run."""
        self.check = check


@final
class Room(Need):
    """Room in the limits of requests that await an answer, of the tenant's and of all (forwarding/in_flight_limits)."""

    __slots__ = ()


@final
class Owed(Need):
    """The payment of what the client owes to a budget of its quota, `owes` of the session (forwarding/quotas)."""

    __slots__ = ()


@final
class BrokerAnswer(Need):
    """The broker's answer to a request that the session sends it first (session/topics/inquiry.py)."""

    __slots__ = ()


ROOM, OWED, BROKER_ANSWER = Room(), Owed(), BrokerAnswer()

__all__ = [
    "BROKER_ANSWER",
    "OWED",
    "ROOM",
    "TURN",
    "BrokerAnswer",
    "IssuerKeys",
    "Owed",
    "PasswordChecked",
    "Room",
    "Turn",
]

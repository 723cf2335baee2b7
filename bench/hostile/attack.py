"""An attack: its name, what it does, and the function that does it; and the list of them all.

An attack is a generator. What it prepares comes before its one `yield`; then it is told to begin, and goes on until
`field.goes_on` is false. It does everything through its `Field` (`field.py`), which counts what was sent.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.hostile.field import Field

Run = Callable[["Field"], Iterator[None]]


class Evidence(Enum):
    """How it is seen that an attack has reached the gateway."""

    REQUESTS = "kafka_proxy_requests_total"
    """The gateway has counted requests."""
    CONNECTIONS = "kafka_proxy_connections_ended_total"
    """It has counted connections, or the attacker got answers or whole handshakes."""
    ANSWERS = "answers"
    """The attacker got answers."""


@dataclass(frozen=True)
class Attack:
    """One entry of the list."""

    name: str
    what: str
    run: Run
    evidence: Evidence = Evidence.REQUESTS
    seconds: float = 5.0
    stops_brokers: bool = False
    """Whether the brokers stand still meanwhile, again and again: then nothing is asked of the victim's latency."""
    is_listed: bool = True
    """Whether it is run by default."""
    is_warmed: bool = False
    """Whether it runs once before it counts, because brokers do most of the work."""
    has_features: bool = False
    """Whether the gateway has what an operator may switch on (`features.py`), and the attacker may use all of it."""


ATTACKS: dict[str, Attack] = {}


def attack(
    what: str,
    *,
    evidence: Evidence = Evidence.REQUESTS,
    seconds: float = 5.0,
    stops_brokers: bool = False,
    is_listed: bool = True,
    is_warmed: bool = False,
    has_features: bool = False,
) -> Callable[[Run], Run]:
    """Add a function to the list, under its own name with dashes."""

    def add(run: Run) -> Run:
        name = run.__name__.replace("_", "-")
        assert name not in ATTACKS, name
        ATTACKS[name] = Attack(
            name, what, run, evidence, seconds, stops_brokers, is_listed, is_warmed, has_features
        )
        return run

    return add

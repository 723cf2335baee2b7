"""What passed though a filter would refuse it (`enforce: false`), until the journal tells of it once in an interval."""

from collections.abc import Iterator
from typing import NamedTuple

MAX_PLACES = 1_000
"""Different places that are remembered; beyond that only the tenant and the filter are, of which the configuration has
so many."""


class UnenforcedPlace(NamedTuple):
    """Where records passed; without a topic it stands for all places that found no room."""

    tenant: str
    filter: str
    """What the operator knows it by."""
    namespace: str | None = None
    """The path of the client's namespace."""
    user: str | None = None
    topic: str | None = None
    """As the client calls it."""
    physical: str | None = None


class UnenforcedRecords:
    """The batches of one process that passed so, since they were told of last."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._batches: dict[UnenforcedPlace, tuple[int, str]] = {}

    def note(self, place: UnenforcedPlace, batches: int, reason: str) -> None:
        """Remember batches, and the reason of the first."""
        if place not in self._batches and len(self._batches) >= MAX_PLACES:
            place = UnenforcedPlace(place.tenant, place.filter)
        count, first = self._batches.get(place, (0, reason))
        self._batches[place] = (count + batches, first)

    def take(self) -> Iterator[tuple[UnenforcedPlace, int, str]]:
        """Yield how many batches passed at each place, and why the first would have been refused; forget them."""
        taken, self._batches = self._batches, {}
        for place, (count, reason) in taken.items():
            yield place, count, reason

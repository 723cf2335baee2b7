"""How often an admin may ask: a token bucket for each admin, and one for all requests without an identity."""


class Rates:
    """The buckets, by name. There are as many as admins, and one more."""

    def __init__(self, per_second: float) -> None:
        """Begin with full buckets.

        Args:
            per_second: requests of each name in a second, on average; twice as many may come at once.
        """
        self._per_second, self._burst = per_second, 2 * per_second
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_s(self, name: str, now_s: float) -> float:
        """Count a request, and return how long it comes too early, in seconds; 0: it may be served.

        A request that comes too early is not counted.
        """
        room, since_s = self._buckets.get(name, (self._burst, now_s))
        room = min(self._burst, room + (now_s - since_s) * self._per_second)
        if room < 1:
            self._buckets[name] = room, now_s
            return (1 - room) / self._per_second
        self._buckets[name] = room - 1, now_s
        return 0.0

"""How long connections were not read, because what they send had nowhere to go."""

CLIENT, BROKER = SIDES = ("client", "broker")


class Pauses:
    """The time of all connections together, by the side that was not read."""

    def __init__(self) -> None:
        """Start at nothing."""
        self._ended_ns = dict.fromkeys(SIDES, 0)

    def add(self, side: str, ns: int) -> None:
        """Add a pause that has ended, in nanoseconds."""
        self._ended_ns[side] += ns

    def seconds(self, side: str) -> float:
        """Return the time of the pauses that have ended, in seconds."""
        return self._ended_ns[side] / 1e9

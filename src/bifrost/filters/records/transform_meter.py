"""Counts what each transform does: batches, records, rejections and time."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from bifrost.transforms.record_transform import Direction


class TransformKey(NamedTuple):
    """What a number is about."""

    tenant: str
    filter: str
    """What the operator knows it by."""
    direction: str
    number: str
    """`batches`, `records`, `rejections`, one of NOTES, or `time_ns`, in nanoseconds."""


TIME = "time_ns"
"""The one number that also grows for work that is done once more, because its message has to wait."""


class TransformMeter:
    """The transforms of one tenant on one way; a ChainMeter."""

    def __init__(
        self, counts: Counter[TransformKey], now_ns: Callable[[], int], tenant: str, direction: Direction
    ) -> None:
        """Add to `counts`; `now_ns` is a monotonic clock, in nanoseconds."""
        self._counts, self._now_ns = counts, now_ns
        self._tenant, self._direction = tenant, direction.value
        self._began_ns = 0
        self._reasons: dict[str, tuple[int, str]] = {}

    def begin(self) -> None:
        """Note that a transform begins."""
        self._began_ns = self._now_ns()

    def end(self, name: str, records: int, rejections: int) -> None:
        """Note what the transform of this name has done, and how long it took, with the pauses in it."""
        took_ns = self._now_ns() - self._began_ns
        for number, amount in (
            ("batches", 1),
            ("records", records),
            ("rejections", rejections),
            (TIME, took_ns),
        ):
            self._counts[TransformKey(self._tenant, name, self._direction, number)] += amount

    def take_reasons(self) -> dict[str, tuple[int, str]]:
        """Return by transform how many batches had a reason since this was asked last, and the first reason."""
        found, self._reasons = self._reasons, {}
        return found

    def note(self, name: str, what: str, reason: str | None) -> None:
        """Count what the transform of this name says about a batch, and keep why."""
        if reason is not None:
            count, first = self._reasons.get(name, (0, reason))
            self._reasons[name] = (count + 1, first)
        self._counts[TransformKey(self._tenant, name, self._direction, what)] += 1

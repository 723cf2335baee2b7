"""Acknowledgements of virtual partitions, put together for their physical ones."""

from __future__ import annotations

from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition
    from bifrost.tenancy.virtual_partitions.shares.share_sessions import Place

_FIRST_OFFSET = attrgetter("first_offset")


class Acknowledgements:
    """Those of one request."""

    __slots__ = ("_batches", "_numbers")

    def __init__(self) -> None:
        """Begin without any."""
        self._batches: dict[Place, list[Sequence[Any]]] = {}
        self._numbers: dict[Place, dict[VirtualPartition, None]] = {}

    def add(self, place: Place, number: VirtualPartition, batches: Sequence[Any]) -> None:
        """Add what is acknowledged of a virtual partition, which is a part of a physical one."""
        self._batches.setdefault(place, []).append(batches)
        self._numbers.setdefault(place, {})[number] = None

    def batches(self, place: Place) -> list[Any]:
        """Return what is acknowledged of a physical partition, in the order of offsets, as brokers demand it.

        A client that names those of a virtual partition in another order is refused by the broker, as it always is.
        """
        return list(in_steps(merge(*self._batches.get(place, ()), key=_FIRST_OFFSET)))

    def numbers(self, place: Place) -> list[VirtualPartition]:
        """Return the virtual partitions of a physical one that are acknowledged."""
        return list(self._numbers.get(place, ()))

    @property
    def places(self) -> list[Place]:
        """The physical partitions of which anything is acknowledged."""
        return list(self._batches)

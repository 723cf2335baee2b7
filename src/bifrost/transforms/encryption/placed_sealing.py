"""What both ways of sealing share: one object for each partition of a topic, and the DEK that seals in it."""

from abc import abstractmethod
from typing import Generic, TypeVar

from bifrost.encryption.dek import WritingDek
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.transforms.encryption.dek_needs import DekToSeal
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Known,
    Needs,
    Noted,
    PlacedTransform,
    Rejected,
)

MAX_PARTITIONS = 1_000
"""Partitions of a topic for which the transform is kept."""


class PartitionSeal:
    """What seals and opens in one partition."""

    def __init__(self, rules: SealRules, partition: int) -> None:
        """Seal and open as `rules` say."""
        self._rules = rules
        self._binding = rules.place(partition).binding
        self._context = rules.context
        self._dek_to_seal = DekToSeal(rules.kek, self._context)

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._rules.name

    def _dek(self, batch: ClientBatch, known: Known) -> WritingDek | Needs | Rejected | Noted:
        """Return the DEK that seals a batch on produce, or what becomes of the batch without one."""
        dek = known.get(self._dek_to_seal)
        if dek is None:
            return Needs(frozenset({self._dek_to_seal}))
        if isinstance(dek, Failure):
            return self._rules.without_dek(batch, dek, Direction.PRODUCE)
        assert isinstance(dek, WritingDek)
        return dek


Seal = TypeVar("Seal", bound=PartitionSeal)


class PlacedSealing(PlacedTransform, Generic[Seal]):
    """The sealing of a topic."""

    def __init__(self, rules: SealRules) -> None:
        """Seal and open as `rules` say."""
        self._rules = rules
        self._placed: dict[int, Seal] = {}

    def at(self, partition: int) -> Seal:  # type: ignore[override]  # each kind of Seal is a transform
        """Return the sealing of a partition."""
        found = self._placed.get(partition)
        if found is None:
            if len(self._placed) >= MAX_PARTITIONS:
                self._placed.clear()
            found = self._placed[partition] = self._made(partition)
        return found

    @abstractmethod
    def _made(self, partition: int) -> Seal:
        """Return the sealing of a partition that is new."""

"""DEKs that were asked for and are still good: those that seal, by KEK and topic, and those that open, the latest used.

Both are bounded in number and in time. While a KEK's service is away they serve until they expire, and no longer: so
long a rotated KEK is not yet in use, and a deleted one still opens.
"""

from collections import OrderedDict
from typing import Generic, Literal, TypeVar

from bifrost.encryption.dek import WritingDek
from bifrost.encryption.dek_context import DekContext

MESSAGES_IN_HAND, BYTES_IN_HAND = 1 << 20, 1 << 30
"""What a DEK must have left to be given out: more than any request takes, so that none ends in the middle of one."""
RENEWAL = 0.8
"""Part of its time after which a DEK is renewed while it still serves, so that sealing does not wait for it."""


class WritingDeks:
    """DEKs that seal, one for a KEK and a topic."""

    def __init__(self, max_deks: int = 10_000) -> None:
        """Begin without any.

        Args:
            max_deks: topics that are written at a time; those least used make room.
        """
        self._deks: OrderedDict[tuple[str, DekContext], tuple[WritingDek, int]] = OrderedDict()
        self._max_deks = max_deks

    def __len__(self) -> int:
        return len(self._deks)

    def get(self, kek: str, context: DekContext, now_ms: int) -> WritingDek | None:
        """Return the DEK that seals for a topic, or None if there has to be a new one."""
        found = self._deks.get((kek, context))
        if found is None:
            return None
        dek = found[0]
        if now_ms >= dek.expires_ms or not dek.has_room(MESSAGES_IN_HAND, BYTES_IN_HAND):
            del self._deks[kek, context]
            return None
        self._deks.move_to_end((kek, context))
        return dek

    def is_due(self, kek: str, context: DekContext, now_ms: int) -> bool:
        """Whether a DEK that still serves should be renewed."""
        found = self._deks.get((kek, context))
        return found is not None and now_ms >= found[1]

    def put(self, kek: str, context: DekContext, dek: WritingDek, now_ms: int) -> None:
        """Keep a new DEK in the place of the one before it."""
        renewal_ms = now_ms + int((dek.expires_ms - now_ms) * RENEWAL)
        self._deks[kek, context] = dek, renewal_ms
        self._deks.move_to_end((kek, context))
        while len(self._deks) > self._max_deks:
            self._deks.popitem(last=False)

    def postpone(self, kek: str, context: DekContext, until_ms: int) -> None:
        """Do not ask for a renewal before that time: the KEK's service has just failed."""
        found = self._deks.get((kek, context))
        if found is not None:
            self._deks[kek, context] = found[0], until_ms


Opening = TypeVar("Opening")


class ReadingDeks(Generic[Opening]):
    """DEKs, or keys of topics, by what wraps them and for what they may be used."""

    def __init__(self, max_deks: int = 10_000, max_age_ms: int = 600_000) -> None:
        """Begin without any.

        Args:
            max_deks: how many are kept; those least used make room.
            max_age_ms: how long after its KEK unwrapped it a DEK opens.
        """
        self._deks: OrderedDict[tuple[DekContext, bytes], tuple[Opening | Literal["unknown"], int]] = (
            OrderedDict()
        )
        self._max_deks, self._max_age_ms = max_deks, max_age_ms

    def __len__(self) -> int:
        return len(self._deks)

    def get(self, context: DekContext, header: bytes, now_ms: int) -> Opening | Literal["unknown"] | None:
        """Return a DEK; "unknown": its KEK has just said that it unwraps it not; None: the KEK has to be asked."""
        found = self._deks.get((context, header))
        if found is None:
            return None
        if now_ms >= found[1]:
            del self._deks[context, header]
            return None
        self._deks.move_to_end((context, header))
        return found[0]

    def put(self, context: DekContext, header: bytes, dek: Opening, now_ms: int) -> None:
        """Keep a DEK that was just unwrapped."""
        self._keep((context, header), dek, now_ms + self._max_age_ms)

    def put_unknown(self, context: DekContext, header: bytes, until_ms: int) -> None:
        """Remember for a while that a KEK does not unwrap it, so that its service is not asked for every fetch."""
        self._keep((context, header), "unknown", until_ms)

    def _keep(self, key: tuple[DekContext, bytes], dek: Opening | Literal["unknown"], until_ms: int) -> None:
        self._deks[key] = dek, until_ms
        self._deks.move_to_end(key)
        while len(self._deks) > self._max_deks:
            self._deks.popitem(last=False)

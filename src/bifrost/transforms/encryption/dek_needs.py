"""What sealing and opening need from outside: DEKs, and keys of topics.

Their source asks the KEK (gateway/sources/dek_source.py).
"""

from dataclasses import dataclass
from typing import ClassVar

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.kek import Kek
from bifrost.encryption.sealing_key import SealingKey

SOURCE = "deks"


@dataclass(frozen=True, slots=True)
class DekToSeal:
    """The DEK that seals records of a topic now: a WritingDek."""

    source: ClassVar[str] = SOURCE
    kek: Kek
    context: DekContext


@dataclass(frozen=True, slots=True)
class DekToOpen:
    """The DEK of an envelope: a Dek."""

    source: ClassVar[str] = SOURCE
    kek: Kek
    context: DekContext
    header: bytes
    """What names it in the envelope: see `read_wrapped_dek`."""


@dataclass(frozen=True, slots=True)
class KeyOfTopic:
    """The key that seals the keys of a topic's records: a TopicKey."""

    source: ClassVar[str] = SOURCE
    kek: Kek
    context: DekContext
    sealing: SealingKey
    """What it comes from."""

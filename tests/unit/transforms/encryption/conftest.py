import pytest

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.kek import Kek
from bifrost.transforms.encryption.seal_rules import SealRules
from support.encryption.sealing import WRAPPED, opening, sealing

RULES = SealRules("sealed", Kek("vault", "payments"), "cluster", "physical.orders", False, None)


@pytest.fixture
def rules() -> SealRules:
    return RULES


@pytest.fixture
def deks() -> tuple[WritingDek, Dek, bytes]:
    """A DEK that seals, one that opens it, and what names both in envelopes."""
    return sealing(), opening(), WRAPPED.as_bytes()

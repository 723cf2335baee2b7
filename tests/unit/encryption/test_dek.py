import copy
import pickle

import pytest

from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.errors import DekUsedUp
from support.encryption.sealing import KEY, WRAPPED, opening, sealing


def test_a_dek_has_32_bytes() -> None:
    for size in (0, 16, 31, 33):
        with pytest.raises(ValueError, match="32 bytes"):
            Dek(bytes(size), WRAPPED)


def test_counters_are_given_once() -> None:
    dek = sealing()

    assert [dek.take(1, 10), dek.take(5, 10), dek.take(1, 10)] == [0, 1, 6]


def test_a_dek_ends_with_its_messages() -> None:
    dek = sealing(limits=DekLimits(max_messages=3))

    dek.take(2, 1)
    assert dek.has_room(1, 1)
    assert not dek.has_room(2, 1)
    with pytest.raises(DekUsedUp):
        dek.take(2, 1)
    assert dek.take(1, 1) == 2
    with pytest.raises(DekUsedUp):
        dek.take(1, 1)


def test_a_dek_ends_with_its_bytes() -> None:
    dek = sealing(limits=DekLimits(max_bytes=100))

    dek.take(1, 60)
    assert dek.has_room(1, 40)
    assert not dek.has_room(1, 41)
    with pytest.raises(DekUsedUp):
        dek.take(1, 41)
    assert dek.take(1, 40) == 1


def test_a_dek_expires_after_its_age() -> None:
    dek = WritingDek(opening(), bytes(8), DekLimits(max_age_ms=500), 1_000)

    assert dek.expires_ms == 1_500


def test_the_limits_are_far_below_what_the_cipher_allows() -> None:
    limits = DekLimits()

    assert limits.max_messages <= (1 << 32) // 16
    assert (limits.max_bytes // 16) ** 2 <= 2 ** (129 - 64)


def test_a_dek_must_have_different_nonces() -> None:
    with pytest.raises(ValueError, match="8 bytes"):
        WritingDek(opening(), bytes(7), DekLimits(), 0)
    for messages in (0, (1 << 32) + 1):
        with pytest.raises(ValueError, match="messages"):
            WritingDek(opening(), bytes(8), DekLimits(max_messages=messages), 0)


def test_a_key_is_neither_shown_nor_copied_away() -> None:
    for dek in (opening(), sealing()):
        shown = f"{dek} {dek!r} {dek.__dict__ if hasattr(dek, '__dict__') else ''}"
        assert KEY.hex() not in shown
        assert repr(KEY)[2:-1] not in shown
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(dek)
        with pytest.raises(TypeError, match="not pickled"):
            copy.copy(dek)

import pytest

from bifrost.encryption.errors import BrokenSeal
from bifrost.encryption.wrapped_dek import (
    MAX_REFERENCE_BYTES,
    MAX_WRAPPED_BYTES,
    WrappedDek,
    read_wrapped_dek,
)

ONE = WrappedDek("vault:transit/é", 3, b"wrapped")


def test_a_wrapped_dek_is_read_as_it_was_written() -> None:
    data = ONE.as_bytes()

    assert data == b"\x00\x00\x00\x03\x00\x10\x00\x07" + "vault:transit/é".encode() + b"wrapped"
    assert read_wrapped_dek(data) == ONE


def test_the_wrapped_key_is_not_shown() -> None:
    assert repr(ONE) == "WrappedDek('vault:transit/é', 3)"


@pytest.mark.parametrize(
    "one",
    [
        WrappedDek("", 1, b"w"),
        WrappedDek("k" * (MAX_REFERENCE_BYTES + 1), 1, b"w"),
        WrappedDek("k", 1, b""),
        WrappedDek("k", 1, bytes(MAX_WRAPPED_BYTES + 1)),
    ],
)
def test_a_reference_and_a_wrapped_dek_have_bounds(one: WrappedDek) -> None:
    with pytest.raises(ValueError, match="has 1 to"):
        one.as_bytes()


def test_what_is_no_wrapped_dek_is_refused() -> None:
    data = ONE.as_bytes()
    spoilt = [data[:-1], data + b"\0", data[:5], b"", b"\xff" * 30, bytes(30), data.replace(b"\xc3", b"\xff")]
    spoilt.append(WrappedDek("k", 1, b"w").as_bytes()[:4] + b"\x02\x01\x00\x01" + bytes(514))

    for one in spoilt:
        with pytest.raises(BrokenSeal, match="the envelope's"):
            read_wrapped_dek(one)

import base64

import pytest

from bifrost.encryption.errors import BrokenSeal
from bifrost.encryption.field_forms import JSON, MARK, OF_AVRO, OF_JSON, from_text, in_text
from bifrost.wire.steps import set_pause


def test_a_text_holds_an_envelope() -> None:
    for size in range(70):
        envelope = bytes(range(size))

        assert from_text(in_text(envelope)) == envelope
        assert JSON.unwrap(JSON.wrap(envelope)) == envelope


def test_a_large_envelope_becomes_a_text_in_pieces() -> None:
    envelope, pauses = bytes(range(256)) * 4 * 1024 + b"end", list[int]()
    set_pause(lambda: pauses.append(1))
    try:
        text = in_text(envelope)
        encoding = len(pauses)
        assert from_text(text) == envelope
    finally:
        set_pause(None)

    assert text == MARK + base64.urlsafe_b64encode(envelope)
    assert min(encoding, len(pauses) - encoding) >= 10, "after 96 KiB each, some 0.3 ms"


def test_what_does_not_begin_with_the_mark_is_not_sealed() -> None:
    for content in (b'"text"', b"12", b'{"a": 1}', b'"bifrost:sealed"', b'"\\u0062ifrost:sealed:"'):
        assert JSON.unwrap(content) is None
    assert not JSON.is_null(b'""')


@pytest.mark.parametrize("text", [MARK + b"!", MARK + b"A", MARK + b"QUJD\xff"])
def test_what_is_no_base64_is_an_error(text: bytes) -> None:
    with pytest.raises(BrokenSeal):
        from_text(text)


def test_kinds_of_values_have_envelopes_of_their_own() -> None:
    assert OF_JSON != OF_AVRO
    assert len(OF_JSON) == len(OF_AVRO) == 8

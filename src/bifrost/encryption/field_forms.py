"""How a sealed field stands in its value: in JSON as a text; avro_sealing.py has the form of Avro."""

import base64
import binascii
import json
from typing import Final, Protocol

from bifrost.encryption.errors import BrokenSeal
from bifrost.wire.steps import in_steps

MARK: Final = b"bifrost:sealed:"
"""How the text of a sealed field begins."""

_PIECE: Final = 3 << 15
"""Bytes of an envelope that become a text without a pause: some 0.3 ms. A multiple of 3, so that pieces join."""
_PIECE_ROUNDS: Final = 65
"""They count as so many rounds of a loop: enough for a pause behind each."""

_START: Final = b"BFST\x01%c\x01\x00"
"""Magic, version, mode, AES-256-GCM, reserved."""
OF_JSON: Final = _START % 4
OF_AVRO: Final = _START % 5
"""How the envelope of a field begins: what is sealed is JSON, or Avro's bytes of the field."""


class FieldForm(Protocol):
    """How an envelope takes the place of a field."""

    start: bytes
    """How its envelope begins."""

    def is_null(self, content: bytes) -> bool:
        """Whether a field is null, which is not sealed."""

    def wrap(self, envelope: bytes) -> bytes:
        """Return what stands in place of a field."""

    def unwrap(self, content: bytes) -> bytes | None:
        """Return the envelope of a field; None: it is not sealed.

        Raises:
            BrokenSeal: it is malformed.
        """


class JsonForm:
    """A JSON text."""

    start = OF_JSON

    def is_null(self, content: bytes) -> bool:
        """See `FieldForm`; no null of JSON is asked for."""
        return False

    def wrap(self, envelope: bytes) -> bytes:
        """See `FieldForm`."""
        return b'"%s"' % in_text(envelope)

    def unwrap(self, content: bytes) -> bytes | None:
        """See `FieldForm`; programs that write JSON anew may have written its characters in another way."""
        if not content.startswith(b'"' + MARK):
            return None
        try:
            text = json.loads(content).encode() if b"\\" in content else content[1:-1]
        except ValueError:
            raise BrokenSeal("the envelope of a field is no base64") from None
        return from_text(text)


JSON: Final = JsonForm()


def in_text(envelope: bytes) -> bytes:
    """Return an envelope as a text."""
    return MARK + b"".join(
        base64.urlsafe_b64encode(envelope[at : at + _PIECE])
        for at in in_steps(range(0, len(envelope), _PIECE), _PIECE_ROUNDS)
    )


def from_text(text: bytes) -> bytes:
    """Return the envelope of a text that begins with the mark.

    Raises:
        BrokenSeal: there is none.
    """
    size = _PIECE // 3 * 4
    try:
        return b"".join(
            base64.b64decode(text[at : at + size], altchars=b"-_", validate=True)
            for at in in_steps(range(len(MARK), len(text), size), _PIECE_ROUNDS)
        )
    except (ValueError, binascii.Error):
        raise BrokenSeal("the envelope of a field is no base64") from None

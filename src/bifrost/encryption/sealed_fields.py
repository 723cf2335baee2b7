"""Seals single fields of JSON values, and opens them; docs/encryption.md has the layout and what is bound.

A sealed field is a JSON text, the mark and an envelope in base64, in place of whatever JSON was there; null stays null.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final

from cryptography.exceptions import InvalidTag

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import BrokenSeal, UnknownEnvelope
from bifrost.records.codec.columns import Columns

MARK: Final = b"bifrost:sealed:"
"""How the text of a sealed field begins."""

_START: Final = b"BFST\x01\x04\x01\x00"
"""Magic, version, mode of a field, AES-256-GCM, reserved."""
_NONCE, _TAG = 12, 16
_SEALED = re.compile(b'"' + MARK + rb'[^"]*"')
_DEK_AT = len(_START) + _NONCE
_DEK_HEAD = Struct(">IHH")
_SIZE = Struct(">i")
_COUNTER = Struct(">I")


def is_sealed(content: bytes) -> bool:
    """Whether the JSON of a field is a sealed one."""
    return content.startswith(b'"' + MARK)


def dek_header_of(envelope: bytes) -> bytes:
    """Return what names the DEK of a sealed field.

    Raises:
        UnknownEnvelope: it has another version, mode or cipher.
        BrokenSeal: it is cut off.
    """
    if len(envelope) < _DEK_AT + _DEK_HEAD.size + _TAG:
        raise BrokenSeal("the envelope of a field is cut off")
    if not envelope.startswith(_START):
        raise UnknownEnvelope("the envelope of a field has another version, mode or cipher")
    _, reference, wrapped = _DEK_HEAD.unpack_from(envelope, _DEK_AT)
    end = _DEK_AT + _DEK_HEAD.size + reference + wrapped
    if len(envelope) < end + _TAG:
        raise BrokenSeal("the envelope of a field is cut off")
    return envelope[_DEK_AT:end]


def read_envelope(content: bytes) -> bytes:
    """Return the envelope of a sealed field.

    Args:
        content: its JSON; programs that write JSON anew may have written its characters in another way.
    Raises:
        BrokenSeal: it is none.
    """
    try:
        text = json.loads(content) if b"\\" in content else content[1:-1].decode()
        return base64.b64decode(text[len(MARK) :], altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise BrokenSeal("the envelope of a field is no base64") from None


def headers_in(value: bytes) -> set[bytes]:
    """Return what names the DEKs of the fields that are sealed in a value, wherever they are.

    Raises:
        BrokenSeal, UnknownEnvelope: an envelope is malformed.
    """
    return {dek_header_of(read_envelope(found[0])) for found in _SEALED.finditer(value)}


class _Bound:
    """The additional data of the fields of a batch."""

    def __init__(self, columns: Columns, binding: bytes) -> None:
        self._keys, self._binding = columns.keys, binding

    def of(self, record: int, names: Sequence[bytes], before: bytes) -> bytes:
        """Return it: the place, the envelope before its ciphertext, the record's key, the names that led there."""
        key = self._keys[record]
        parts = [self._binding, before, _SIZE.pack(-1) if key is None else _SIZE.pack(len(key)) + key]
        parts += [_SIZE.pack(len(name)) + name for name in names]
        return b"".join(parts)


class FieldSealer:
    """Seals the fields of a batch; what `mask_values` asks."""

    def __init__(self, columns: Columns, binding: bytes, dek: WritingDek) -> None:
        """Seal for a place with a DEK."""
        self._bound, self._dek = _Bound(columns, binding), dek

    def __call__(self, record: int, names: list[bytes], content: bytes) -> bytes:
        """Return the sealed field.

        Raises:
            DekUsedUp: it needs another DEK.
        """
        dek = self._dek
        nonce = dek.nonce_prefix + _COUNTER.pack(dek.take(1, len(content)))
        before = _START + nonce + dek.header
        sealed = dek.dek.cipher.encrypt(nonce, content, self._bound.of(record, names, before))
        return b'"%s%s"' % (MARK, base64.urlsafe_b64encode(before + sealed))


class FieldFinder:
    """Finds which DEKs the fields of a batch are sealed with, and changes none; what `mask_values` asks.

    Attributes:
        dek_headers: what names the DEKs.
        not_sealed: how many fields are not sealed.
    """

    def __init__(self) -> None:
        self.dek_headers: set[bytes] = set()
        self.not_sealed = 0

    def __call__(self, record: int, names: list[bytes], content: bytes) -> None:
        """Note a field.

        Raises:
            BrokenSeal, UnknownEnvelope: its envelope is malformed.
        """
        if is_sealed(content):
            self.dek_headers.add(dek_header_of(read_envelope(content)))
        else:
            self.not_sealed += 1


class FieldOpener:
    """Opens the fields of a batch; what `mask_values` asks."""

    def __init__(self, columns: Columns, binding: bytes, deks: Mapping[bytes, Dek]) -> None:
        """Open what was sealed for a place, with DEKs by what names them."""
        self._bound, self._deks = _Bound(columns, binding), deks

    def __call__(self, record: int, names: list[bytes], content: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            BrokenSeal: it was changed, or belongs to another place, record key or field.
        """
        envelope = read_envelope(content)
        header = dek_header_of(envelope)
        before = _DEK_AT + len(header)
        nonce = envelope[len(_START) : _DEK_AT]
        bound = self._bound.of(record, names, envelope[:before])
        try:
            return self._deks[header].cipher.decrypt(nonce, envelope[before:], bound)
        except InvalidTag:
            raise BrokenSeal(
                f"a field of record {record} was changed, or sealed for another place, key of a record or field"
            ) from None

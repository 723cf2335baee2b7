"""Seals single fields of JSON and Avro values, and opens them; docs/encryption.md has the layout and what is bound.

A sealed field is an envelope in place of whatever was there (field_forms.py); null stays null.
"""

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from struct import Struct

from cryptography.exceptions import InvalidTag

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.errors import BrokenSeal, UnknownEnvelope
from bifrost.encryption.field_forms import JSON, MARK, OF_AVRO, OF_JSON, FieldForm
from bifrost.records.codec.columns import Columns

_NONCE, _TAG = 12, 16
_DEK_AT = len(OF_JSON) + _NONCE
_DEK_HEAD = Struct(">IHH")
_SIZE = Struct(">i")
_COUNTER = Struct(">I")
_MOST_OF_HEADER = _DEK_AT + _DEK_HEAD.size + 2 * 0xFFFF
_SEALED = re.compile(MARK + rb"([A-Za-z0-9_-]*)")


def dek_header_of(envelope: bytes, start: bytes) -> bytes:
    """Return what names the DEK of a sealed field; `start` is how its envelope begins.

    Raises:
        UnknownEnvelope: it has another version, mode or cipher.
        BrokenSeal: it is cut off.
    """
    if len(envelope) < _DEK_AT + _DEK_HEAD.size + _TAG:
        raise BrokenSeal("the envelope of a field is cut off")
    if not envelope.startswith(start):
        raise UnknownEnvelope("the envelope of a field has another version, mode or cipher")
    _, reference, wrapped = _DEK_HEAD.unpack_from(envelope, _DEK_AT)
    end = _DEK_AT + _DEK_HEAD.size + reference + wrapped
    if len(envelope) < end + _TAG:
        raise BrokenSeal("the envelope of a field is cut off")
    return envelope[_DEK_AT:end]


def has_sealed_fields(value: bytes) -> bool:
    """Whether fields of a value are sealed, wherever they are; bytes that a client wrote may look so."""
    return MARK in value or OF_AVRO in value


def headers_in(value: bytes) -> set[bytes]:
    """Return what names the DEKs of the fields that are sealed in a value, wherever they are.

    Raises:
        BrokenSeal, UnknownEnvelope: an envelope is malformed.
    """
    found: set[bytes] = set()
    for text in _SEALED.finditer(value):
        # What follows a text of Avro may look like more of it; the header stands before that.
        envelope = _decoded(text[1])
        found.add(dek_header_of(envelope, OF_AVRO if envelope.startswith(OF_AVRO) else OF_JSON))
    at = value.find(OF_AVRO)
    while at >= 0:
        found.add(dek_header_of(value[at : at + _MOST_OF_HEADER + _TAG], OF_AVRO))
        at = value.find(OF_AVRO, at + 1)
    return found


def _decoded(text: bytes) -> bytes:
    whole = text[: 4 * -(-_MOST_OF_HEADER // 3)]
    try:
        return urlsafe_b64decode(whole[: len(whole) - len(whole) % 4])
    except (ValueError, binascii.Error):
        raise BrokenSeal("the envelope of a field is no base64") from None


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

    def __call__(
        self, record: int, names: Sequence[bytes], content: bytes, form: FieldForm | None = None
    ) -> bytes | None:
        """Return the sealed field; None: it is null.

        Args:
            record: its place in the batch.
            names: what led there.
            content: the field, as it stands in its value.
            form: how it is sealed; None: as JSON.
        Raises:
            DekUsedUp: it needs another DEK.
        """
        form = JSON if form is None else form
        if form.is_null(content):
            return None
        dek = self._dek
        nonce = dek.nonce_prefix + _COUNTER.pack(dek.take(1, len(content)))
        before = form.start + nonce + dek.header
        sealed = dek.dek.cipher.encrypt(nonce, content, self._bound.of(record, names, before))
        return form.wrap(before + sealed)


class FieldFinder:
    """Finds which DEKs the fields of a batch are sealed with, and changes none; what `mask_values` asks.

    Attributes:
        dek_headers: what names the DEKs.
        not_sealed: how many fields are not sealed.
    """

    def __init__(self) -> None:
        self.dek_headers: set[bytes] = set()
        self.not_sealed = 0

    def __call__(
        self, record: int, names: Sequence[bytes], content: bytes, form: FieldForm | None = None
    ) -> None:
        """Note a field.

        Raises:
            BrokenSeal, UnknownEnvelope: its envelope is malformed.
        """
        form = JSON if form is None else form
        envelope = None if form.is_null(content) else form.unwrap(content)
        if envelope is not None:
            self.dek_headers.add(dek_header_of(envelope, form.start))
        elif not form.is_null(content):
            self.not_sealed += 1


class FieldOpener:
    """Opens the fields of a batch; what `mask_values` asks."""

    def __init__(self, columns: Columns, binding: bytes, deks: Mapping[bytes, Dek]) -> None:
        """Open what was sealed for a place, with DEKs by what names them."""
        self._bound, self._deks = _Bound(columns, binding), deks

    def __call__(
        self, record: int, names: Sequence[bytes], content: bytes, form: FieldForm | None = None
    ) -> bytes | None:
        """Return what was sealed; None: it is null.

        Raises:
            BrokenSeal: it was changed, or belongs to another place, record key or field.
        """
        form = JSON if form is None else form
        if form.is_null(content):
            return None
        envelope = form.unwrap(content)
        if envelope is None:
            raise BrokenSeal(f"a field of record {record} is not sealed")
        header = dek_header_of(envelope, form.start)
        before = _DEK_AT + len(header)
        nonce = envelope[len(form.start) : _DEK_AT]
        bound = self._bound.of(record, names, envelope[:before])
        try:
            return self._deks[header].cipher.decrypt(nonce, envelope[before:], bound)
        except InvalidTag:
            raise BrokenSeal(
                f"a field of record {record} was changed, or sealed for another place, key of a record or field"
            ) from None

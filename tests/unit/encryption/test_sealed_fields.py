import base64
import json

import pytest

from bifrost.encryption.dek import DekLimits
from bifrost.encryption.errors import BrokenSeal, DekUsedUp, UnknownEnvelope
from bifrost.encryption.field_forms import JSON, MARK, OF_JSON
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_fields import (
    FieldFinder,
    FieldOpener,
    FieldSealer,
    dek_header_of,
    headers_in,
)
from bifrost.records.codec.columns import ColumnRecord, Columns
from support.encryption.sealing import PLACE, WRAPPED, opening, sealing

HEADER = WRAPPED.as_bytes()
COLUMNS = Columns.of([ColumnRecord(0, 0, b"a", b"{}"), ColumnRecord(1, 0, None, b"{}")])
NAMES = [b"customer", b"email"]
CONTENT = b'"a@b.c"'


def opener(place: Place = PLACE, key: bytes = bytes(range(32))) -> FieldOpener:
    return FieldOpener(COLUMNS, place.binding, {HEADER: opening(key)})


def sealed_by(sealer: FieldSealer, content: bytes = CONTENT) -> bytes:
    found = sealer(0, NAMES, content)
    assert found is not None
    return found


def sealed_field() -> bytes:
    return sealed_by(FieldSealer(COLUMNS, PLACE.binding, sealing()))


def envelope_of(sealed: bytes) -> bytes:
    found = JSON.unwrap(sealed)
    assert found is not None
    return found


def test_a_field_is_a_text_that_opens_to_what_was_there() -> None:
    sealer = FieldSealer(COLUMNS, PLACE.binding, sealing())
    for content in (CONTENT, b"12", b'{"x": [1.50, null]}', b"true", b'""'):
        sealed = sealed_by(sealer, content)

        assert json.loads(sealed).startswith(MARK.decode())
        assert content.strip(b'"') not in sealed or len(content) < 5
        assert dek_header_of(envelope_of(sealed), OF_JSON) == HEADER
        assert opener()(0, NAMES, sealed) == content
    assert sealer(0, NAMES, CONTENT) != sealer(0, NAMES, CONTENT), "each has a nonce of its own"


def test_a_reader_without_bifrost_can_open_it() -> None:
    sealed = json.loads(sealed_field())

    envelope = base64.urlsafe_b64decode(sealed.removeprefix("bifrost:sealed:"))
    begin = 28 + len(WRAPPED.kek) + len(WRAPPED.wrapped)
    key = (1).to_bytes(4, "big") + b"a"
    names = b"".join(len(one).to_bytes(4, "big") + one for one in NAMES)
    bound = PLACE.binding + envelope[:begin] + key + names
    assert opening().cipher.decrypt(envelope[8:20], envelope[begin:], bound) == CONTENT


def test_another_place_key_field_or_dek_does_not_open_it() -> None:
    sealed = sealed_field()

    for wrong in (
        lambda: opener(Place("cluster", "physical.orders", 4))(0, NAMES, sealed),
        lambda: opener()(1, NAMES, sealed),
        lambda: opener()(0, [b"customer", b"phone"], sealed),
        lambda: opener()(0, [b"email"], sealed),
        lambda: opener()(0, [b"customeremail"], sealed),
        lambda: opener(key=bytes(32))(0, NAMES, sealed),
    ):
        with pytest.raises(BrokenSeal, match="was changed, or sealed for another"):
            wrong()


def test_a_changed_bit_anywhere_is_an_error() -> None:
    sealed = sealed_field()
    envelope = envelope_of(sealed)
    for bit in range(8 * len(envelope)):
        changed = bytearray(envelope)
        changed[bit // 8] ^= 1 << bit % 8
        text = b'"%s%s"' % (MARK, base64.urlsafe_b64encode(changed))
        with pytest.raises((BrokenSeal, UnknownEnvelope, KeyError)) as refused:
            opener()(0, NAMES, text)
        # Another DEK is asked for, and not there.
        assert not isinstance(refused.value, KeyError) or dek_header_of(bytes(changed), OF_JSON) != HEADER


@pytest.mark.parametrize("size", [0, 4, 8, 27, 60])
def test_an_envelope_that_is_cut_off_is_an_error(size: int) -> None:
    envelope = envelope_of(sealed_field())

    with pytest.raises(BrokenSeal):
        dek_header_of(envelope[:size], OF_JSON)


@pytest.mark.parametrize(
    "text", [b'"bifrost:sealed:!"', b'"bifrost:sealed:QUJD\\u00e4"', b'"bifrost:sealed:A"']
)
def test_what_is_no_base64_is_an_error(text: bytes) -> None:
    with pytest.raises(BrokenSeal):
        JSON.unwrap(text)


def test_programs_that_write_json_anew_may_escape_characters() -> None:
    sealed = sealed_field()

    assert opener()(0, NAMES, sealed.replace(b"A", b"\\u0041")) == CONTENT


def test_fields_are_found_with_the_deks_that_they_need() -> None:
    sealed, finder = sealed_field(), FieldFinder()

    for content in (sealed, CONTENT, b"12", sealed):
        finder(0, NAMES, content)

    assert (finder.dek_headers, finder.not_sealed) == ({HEADER}, 2)
    assert headers_in(b'{"a": {"b": [' + sealed + b', 1]}, "c": "bifrost"}') == {HEADER}
    assert headers_in(CONTENT) == set()
    with pytest.raises(BrokenSeal):
        headers_in(b'{"a": "bifrost:sealed:"}')


def test_a_dek_seals_no_more_than_it_may() -> None:
    sealer = FieldSealer(COLUMNS, PLACE.binding, sealing(limits=DekLimits(max_messages=2)))
    for _ in range(2):
        sealer(0, NAMES, CONTENT)

    with pytest.raises(DekUsedUp):
        sealer(0, NAMES, CONTENT)

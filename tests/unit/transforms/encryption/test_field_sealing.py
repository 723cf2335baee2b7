from dataclasses import replace

import pytest

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord
from bifrost.transforms.chain import transform_batch
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal
from bifrost.transforms.encryption.field_sealing import FieldSealing, fields_of_json
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import Buffer, Direction, Failure, Known, Needs, Rejected
from bifrost.wire.error_codes import ErrorCode
from support.records.record_columns import CODECS, batch_of, only_batch, plenty

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
Deks = tuple[WritingDek, Dek, bytes]
PATHS = ("customer.email", "cards.number", "x.*.note", "tags[*]")
VALUE = (
    b'{"id": 7, "customer": {"email": "SECRET@b.c", "name": "n"}, "price": 1.50,'
    b' "cards": [{"number": "SECRET-1"}, {"number": 2}], "x": {"y": {"note": {"SECRET": [1]}}},'
    b' "tags": ["SECRET", null]}'
)


def run(
    rules: SealRules, data: Buffer, direction: Direction, known: Known, partition: int = 3
) -> Buffer | Rejected | Needs:
    steps = [FieldSealing(rules, fields_of_json(PATHS)).at(partition)]
    return transform_batch(only_batch(bytes(data)), steps, direction, known, plenty())


def known_of(rules: SealRules, deks: Deks) -> Known:
    return {
        DekToSeal(rules.kek, rules.context): deks[0],
        DekToOpen(rules.kek, rules.context, deks[2]): deks[1],
    }


def of(*values: bytes | None, codec: int = 0) -> bytes:
    return batch_of([ColumnRecord(at, 0, b"k", one) for at, one in enumerate(values)], codec=codec)


def values_of(data: object) -> list[bytes | None]:
    assert isinstance(data, bytes | memoryview)
    return [one.value for one in read_columns(only_batch(bytes(data)), plenty()).records()]


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_fields_come_back_byte_for_byte_and_the_rest_stays_readable(
    rules: SealRules, deks: Deks, codec: int
) -> None:
    known = known_of(rules, deks)

    made = run(rules, of(VALUE, None, b"{}", b'{"customer": {"email": null}}', codec=codec), PRODUCE, known)

    sealed, *others = values_of(made)
    assert sealed is not None
    assert b"SECRET" not in sealed
    assert sealed.startswith(b'{"id": 7, "customer": {"email": "bifrost:sealed:')
    assert sealed.count(b"bifrost:sealed:") == 5
    assert b'"name": "n"}, "price": 1.50,' in sealed
    assert others == [None, b"{}", b'{"customer": {"email": null}}']
    assert isinstance(made, bytes | memoryview)
    assert values_of(run(rules, made, FETCH, known)) == [VALUE, *others]


@pytest.mark.parametrize(
    "value", [b'{"customer": "SECRET"}', b'{"x": {"y": "SECRET", "z": 5}}', b'["a", {"tags": "SECRET"}]']
)
def test_what_a_path_cannot_look_into_is_sealed_whole(rules: SealRules, deks: Deks, value: bytes) -> None:
    known = known_of(rules, deks)

    made = run(rules, of(value), PRODUCE, known)

    assert b"SECRET" not in (values_of(made)[0] or b"")
    assert isinstance(made, bytes | memoryview)
    assert values_of(run(rules, made, FETCH, known)) == [value]


def test_batches_without_such_fields_keep_their_bytes(rules: SealRules, deks: Deks) -> None:
    known, data = known_of(rules, deks), of(b'{"id": 7}', None, codec=4)

    assert run(rules, data, PRODUCE, known) == data
    assert run(rules, data, FETCH, {}) == data


def test_a_value_that_is_no_json_is_rejected(rules: SealRules, deks: Deks) -> None:
    outcome = run(rules, of(VALUE, b"no JSON", b"{"), PRODUCE, known_of(rules, deks))

    assert isinstance(outcome, Rejected)
    assert outcome.error_code == ErrorCode.INVALID_RECORD
    assert [one.index for one in outcome.rejections] == [1, 2]
    fetched = run(rules, of(b"no JSON"), FETCH, {})
    assert isinstance(fetched, Rejected)
    assert fetched.error_code == ErrorCode.CORRUPT_MESSAGE


def test_keys_are_asked_for_and_a_place_is_bound(rules: SealRules, deks: Deks) -> None:
    known = known_of(rules, deks)
    made = run(rules, of(VALUE), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)

    assert run(rules, of(VALUE), PRODUCE, {}) == Needs(frozenset({DekToSeal(rules.kek, rules.context)}))
    assert run(rules, made, FETCH, {}) == Needs(frozenset({DekToOpen(rules.kek, rules.context, deks[2])}))
    assert isinstance(run(rules, made, FETCH, known, 4), Rejected)


def test_a_field_that_changed_its_place_in_the_value_is_an_error(rules: SealRules, deks: Deks) -> None:
    known = known_of(rules, deks)
    made = run(rules, of(b'{"customer": {"email": "a"}, "x": {"y": {"note": "b"}}}'), PRODUCE, known)
    [value] = values_of(made)
    assert value is not None
    email, note = value.split(b'"')[5], value.split(b'"')[13]
    changed = value.replace(email, b"?").replace(note, email).replace(b"?", note)
    assert changed != value

    refused = run(rules, of(changed), FETCH, known)

    assert isinstance(refused, Rejected)
    assert refused.error_code == ErrorCode.CORRUPT_MESSAGE


def test_plaintext_is_an_error_unless_all_of_it_is_old(rules: SealRules, deks: Deks) -> None:
    known, old = known_of(rules, deks), replace(rules, plaintext_before_ms=2**62)
    made = run(rules, of(VALUE), PRODUCE, known)
    [sealed] = values_of(made)

    assert isinstance(run(rules, of(VALUE), FETCH, known), Rejected)
    passed = run(old, of(VALUE), FETCH, known)
    assert values_of(passed) == [VALUE]
    assert isinstance(passed, bytes | memoryview)
    marked = read_columns(only_batch(bytes(passed)), plenty()).records()[0].headers
    assert marked == ((b"bifrost.plaintext", b"true"),)
    assert isinstance(run(old, of(sealed, VALUE), FETCH, known), Rejected)


def test_a_missing_key_is_an_error_or_skipped(rules: SealRules, deks: Deks) -> None:
    known = known_of(rules, deks)
    failed = dict.fromkeys(known, Failure("gone", is_retriable=False))
    made = run(rules, of(VALUE, codec=4), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)

    assert isinstance(run(rules, of(VALUE), PRODUCE, failed), Rejected)
    assert isinstance(run(rules, made, FETCH, failed), Rejected)
    assert values_of(run(replace(rules, skips_missing_keys=True), made, FETCH, failed)) == []

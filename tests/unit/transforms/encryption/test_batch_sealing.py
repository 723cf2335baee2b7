from dataclasses import replace

import pytest

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.records.codec.columns import ColumnRecord
from bifrost.transforms.chain import transform_batch
from bifrost.transforms.encryption import placed_sealing
from bifrost.transforms.encryption.batch_sealing import BatchSealing
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import Buffer, Direction, Failure, Known, Needs, Rejected
from bifrost.wire.error_codes import ErrorCode
from support.encryption.sealing import sealed, with_checksum
from support.records.record_columns import CODECS, batch_of, only_batch, plenty

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
RECORDS = [ColumnRecord(i, i, b"key", b"secret %d" % i, ((b"h", b"1"),)) for i in range(3)]


def run(
    rules: SealRules, data: Buffer, direction: Direction, known: Known, partition: int = 3
) -> Buffer | Rejected | Needs:
    budget = plenty()
    outcome = transform_batch(
        only_batch(bytes(data)), [BatchSealing(rules).at(partition)], direction, known, budget
    )
    assert budget.used == 0
    return outcome


def known_of(rules: SealRules, deks: tuple[WritingDek, Dek, bytes]) -> Known:
    return {
        DekToSeal(rules.kek, rules.context): deks[0],
        DekToOpen(rules.kek, rules.context, deks[2]): deks[1],
    }


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_a_batch_comes_back_bit_for_bit(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes], codec: int
) -> None:
    data, known = batch_of(RECORDS, codec=codec, producer=(7, 1, 40)), known_of(rules, deks)

    made = run(rules, data, PRODUCE, known)

    assert isinstance(made, bytes | memoryview)
    assert b"secret" not in bytes(made)
    assert run(rules, made, FETCH, known) == data


def test_keys_are_asked_for(rules: SealRules, deks: tuple[WritingDek, Dek, bytes]) -> None:
    data = batch_of(RECORDS)

    assert run(rules, data, PRODUCE, {}) == Needs(frozenset({DekToSeal(rules.kek, rules.context)}))
    made = sealed(data, rules.place(3), deks[0])
    assert run(rules, made, FETCH, {}) == Needs(frozenset({DekToOpen(rules.kek, rules.context, deks[2])}))


def test_what_was_sealed_opens_in_its_place_alone(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    known = known_of(rules, deks)
    made = run(rules, batch_of(RECORDS), PRODUCE, known)
    assert isinstance(made, bytes | memoryview)
    spoilt = bytearray(made)
    spoilt[-30] ^= 1

    for outcome in (run(rules, made, FETCH, known, 4), run(rules, with_checksum(spoilt), FETCH, known)):
        assert isinstance(outcome, Rejected)
        assert outcome.error_code == ErrorCode.CORRUPT_MESSAGE
        assert "offset 0" in (outcome.reason or "")


def test_plaintext_is_an_error_unless_it_is_old(rules: SealRules) -> None:
    data = batch_of(RECORDS)

    refused = run(rules, data, FETCH, {})
    passed = run(replace(rules, plaintext_before_ms=2**62), data, FETCH, {})

    assert isinstance(refused, Rejected)
    assert (refused.error_code, refused.reason) == (
        ErrorCode.CORRUPT_MESSAGE,
        "sealed: offset 0: the batch is not encrypted",
    )
    marked = [one._replace(headers=(*one.headers, (b"bifrost.plaintext", b"true"))) for one in RECORDS]
    assert passed == batch_of(marked)


def test_without_a_key_nothing_is_sealed_and_nothing_is_opened(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    failed = dict.fromkeys(known_of(rules, deks), Failure("away", is_retriable=True))
    data = batch_of(RECORDS)

    for records, direction in ((data, PRODUCE), (sealed(data, rules.place(3), deks[0]), FETCH)):
        assert isinstance(run(rules, records, direction, failed), Rejected)


def test_a_batch_without_records_passes(rules: SealRules) -> None:
    empty = batch_of([])

    assert run(rules, empty, FETCH, {}) == empty


def test_the_sealing_of_a_partition_is_made_once(rules: SealRules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed_sealing, "MAX_PARTITIONS", 2)
    sealing = BatchSealing(rules)

    assert sealing.at(0) is sealing.at(0)
    for partition in range(9):
        assert sealing.at(partition).name == "sealed"
    assert len(sealing._placed) <= 2

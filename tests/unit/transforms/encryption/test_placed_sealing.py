from bifrost.encryption.dek import Dek, WritingDek
from bifrost.transforms.encryption.dek_needs import DekToSeal
from bifrost.transforms.encryption.placed_sealing import PartitionSeal
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import Failure, Needs, Rejected
from support.records.record_columns import batch_of, only_batch


def test_a_batch_waits_for_its_dek_and_is_refused_without_one(
    rules: SealRules, deks: tuple[WritingDek, Dek, bytes]
) -> None:
    seal, key, batch = PartitionSeal(rules, 3), DekToSeal(rules.kek, rules.context), only_batch(batch_of([]))

    assert seal._dek(batch, {}) == Needs(frozenset({key}))
    assert seal._dek(batch, {key: deks[0]}) is deks[0]
    assert isinstance(seal._dek(batch, {key: Failure("gone", is_retriable=False)}), Rejected)

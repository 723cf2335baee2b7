"""What AlterClientQuotas and the admin API share; the rest of it is in their tests."""

import time

from bifrost.state.state_change import Change
from bifrost.tenancy.quotas.quota_change import Refusal, quota_change
from bifrost.tenancy.quotas.quota_entity import NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_table import MAX_ENTITIES, QuotaTable
from bifrost.wire.error_codes import ErrorCode

ALICE = QuotaEntity("alice")


def test_no_more_than_the_operator_gives_can_be_set() -> None:
    table = QuotaTable("acme")
    table.give({NAMESPACE: {QuotaKey.PRODUCER_BYTE_RATE: 100.0}})

    refused = quota_change(None, table, "acme", ALICE, {"producer_byte_rate": 101.0}, set())
    made = quota_change(None, table, "acme", ALICE, {"producer_byte_rate": 100.0}, set())

    assert refused == Refusal(ErrorCode.POLICY_VIOLATION, "Quota producer_byte_rate may be 100 at most")
    assert isinstance(made, Change)
    assert (made.expected, made.body) == (0, {"values": {"producer_byte_rate": 100.0}})


def test_to_remove_what_is_not_there_changes_nothing() -> None:
    assert (
        quota_change(None, QuotaTable("acme"), "acme", ALICE, {"producer_byte_rate": None, "x": None}, set())
        is None
    )


def test_ten_thousand_new_entities_are_judged_one_after_the_other() -> None:
    """Each was compared with all before it, which took seconds."""
    table, added = QuotaTable("acme"), set[QuotaEntity]()
    began = time.process_time()

    found = [
        quota_change(None, table, "acme", QuotaEntity(f"user-{number}"), {"producer_byte_rate": 1.0}, added)
        for number in range(10_000)
    ]

    assert time.process_time() - began < 1
    assert sum(isinstance(one, Change) for one in found) == len(added) == MAX_ENTITIES
    assert {one.error_code for one in found if isinstance(one, Refusal)} == {ErrorCode.POLICY_VIOLATION}


def test_keys_that_there_are_not_are_removed_at_once() -> None:
    removed: dict[str, float | None] = {f"key-{number}": None for number in range(100_000)}
    began = time.process_time()

    assert quota_change(None, QuotaTable("acme"), "acme", ALICE, removed, set()) is None

    assert time.process_time() - began < 0.02

"""What AlterClientQuotas and the admin API share; the rest of it is in their tests."""

from bifrost.state.state_change import Change
from bifrost.tenancy.quotas.quota_change import Refusal, quota_change
from bifrost.tenancy.quotas.quota_entity import NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_table import QuotaTable
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

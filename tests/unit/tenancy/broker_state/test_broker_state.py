"""How much one tenant's requests may make brokers keep."""

from collections import Counter

import pytest

from bifrost.tenancy.broker_state.broker_state import BrokerState, StateLimits
from bifrost.wire.error_codes import ErrorCode


@pytest.fixture
def hits() -> Counter[tuple[str, str]]:
    return Counter()


@pytest.fixture
def state(hits: Counter[tuple[str, str]]) -> BrokerState:
    made = BrokerState(lambda: 0, hits, "acme")
    made.limit(StateLimits(*[1] * len(StateLimits._fields)))
    return made


def test_each_limit_is_that_of_its_own_entries(state: BrokerState) -> None:
    state.limit(StateLimits(1, 2, 3, 4, 5, 6))

    assert {limit: one.most for limit, one in state.entries().items()} == {
        "max_groups": 1,
        "max_group_members": 2,
        "max_committed_offsets": 3,
        "max_transactional_ids": 4,
        "max_producers": 5,
        "max_client_ids": 6,
    }
    assert state.groups.most == 1
    assert state.client_ids.most == 6


def test_the_namespaces_of_a_tenant_share_its_room(state: BrokerState) -> None:
    assert state.of("acme").enter_group(b"app")
    assert not state.of("acme:eu").enter_group(b"app")
    assert state.of("acme").enter_group(b"app")


def test_a_refusal_says_what_and_is_counted(state: BrokerState, hits: Counter[tuple[str, str]]) -> None:
    refusal = state.refuse("max_groups", 3)

    assert refusal.error_code == ErrorCode.POLICY_VIOLATION
    assert "used 1 groups in the last day" in refusal.message
    assert "(max_groups)" in refusal.message
    assert hits == {("max_groups", "acme"): 3}


def test_of_members_it_says_so_with_kafkas_own_error(state: BrokerState) -> None:
    refusal = state.refuse("max_group_members")

    assert refusal.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "used 1 members of groups, or 2 KiB of what they tell, in the last hour" in refusal.message


def test_the_used_part_of_each_limit_is_told(state: BrokerState) -> None:
    state.limit(StateLimits(4, 10, 5, 1, 1, 1))
    assert dict(state.used()) == {}
    kept = state.of("acme")
    for group in (b"one", b"two", b"three"):
        kept.enter_group(group)
    kept.enter_member(b"one", b"member", 100)
    kept.enter_offset(b"one", b"topic", 0)

    assert dict(state.used()) == {"max_groups": 0.75, "max_group_members": 0.1, "max_committed_offsets": 0.2}

    state.limit(StateLimits(2, 10, 5, 1, 1, 1))
    assert dict(state.used())["max_groups"] == 1.5

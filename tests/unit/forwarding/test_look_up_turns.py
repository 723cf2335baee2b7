"""Budgets of look-ups, and turns between tenants."""

import pytest

from bifrost.forwarding.look_up_turns import (
    ALL_BURST,
    ALL_PER_S,
    LISTING_COST,
    TENANT_BURST,
    TENANT_PER_S,
    LookUpTurns,
    TokenBucket,
)


def test_bucket_is_full_at_first_and_fills_up_again() -> None:
    bucket = TokenBucket(per_s=10, burst=5)

    bucket.charge(5, 1_000)

    assert bucket.wait_ms(1_000) == 1
    assert bucket.wait_ms(1_001) == 0


def test_bucket_holds_no_more_than_its_burst() -> None:
    bucket = TokenBucket(per_s=10, burst=5)
    bucket.charge(0, 1_000_000)

    bucket.charge(15, 1_000_000)

    assert bucket.wait_ms(1_000_000) == 1_001


def test_time_that_goes_back_takes_nothing_away() -> None:
    bucket = TokenBucket(per_s=10, burst=5)
    bucket.charge(1, 1_000)

    assert bucket.wait_ms(10) == 0


def test_tenants_have_turns_in_the_order_in_which_they_came() -> None:
    turns = LookUpTurns()
    for tenant in ("acme", "globex", "acme", "initech"):
        assert turns.enter(tenant, 0)

    assert [turns.take(0) for _ in range(4)] == ["acme", "globex", "initech", None]
    assert turns.wait_ms(0) is None


def test_tenant_that_never_stops_asking_keeps_another_waiting_for_one_turn() -> None:
    turns = LookUpTurns()
    turns.enter("attacker", 0)
    for _ in range(10):
        assert turns.take(0) == "attacker"
        turns.charge("attacker", 1, 0)
        turns.enter("attacker", 0)

    turns.enter("victim", 0)

    assert [turns.take(0), turns.take(0)] == ["attacker", "victim"]


def test_tenant_whose_budget_is_spent_waits_and_others_do_not() -> None:
    turns = LookUpTurns()
    turns.charge("attacker", TENANT_BURST, 0)

    assert not turns.enter("attacker", 0)
    assert turns.take(0) is None
    assert turns.wait_ms(0) == 1
    assert turns.enter("victim", 0)
    assert turns.take(0) == "victim"
    assert turns.take(1) == "attacker"


@pytest.mark.parametrize("cost", [1.0, LISTING_COST])
def test_tenant_has_as_many_look_ups_as_its_budget_holds(cost: float) -> None:
    turns, now_ms, count = LookUpTurns(), 0, 0
    while now_ms < 10_000:
        turns.enter("acme", now_ms)
        if turns.take(now_ms) is None:
            wait_ms = turns.wait_ms(now_ms)
            assert wait_ms is not None
            now_ms += wait_ms
        else:
            turns.charge("acme", cost, now_ms)
            count += 1

    assert count * cost == pytest.approx(TENANT_BURST + 10 * TENANT_PER_S, rel=0.05)


def test_all_tenants_together_have_a_budget_too() -> None:
    turns = LookUpTurns()
    for number in range(int(ALL_BURST)):
        turns.charge(f"tenant-{number}", 1, 0)

    assert turns.enter("victim", 0)
    assert turns.take(0) is None
    assert turns.wait_ms(0) == 1
    assert turns.take(int(1000 / ALL_PER_S)) == "victim"


def test_workers_share_the_budget() -> None:
    turns = LookUpTurns(workers=4)

    turns.charge("acme", TENANT_BURST / 4, 0)

    assert not turns.enter("acme", 0)


def test_no_client_waits_after_all_were_told_of_a_failure() -> None:
    turns = LookUpTurns()
    turns.enter("acme", 0)

    turns.clear()

    assert turns.take(0) is None

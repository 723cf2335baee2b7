"""Partitions are charged to every budget, and refused when one is used up, if the client knows the error."""

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.mutations import Mutations, has_permissive_quota
from bifrost.forwarding.quotas.quota import Quota
from bifrost.wire.api_keys import ApiKey

S = 1_000_000_000


def budget() -> Budget:
    return Budget("controller_mutation_rate", "acme", S, 10 * S, 3600 * S)


def test_the_last_partitions_may_exceed_the_quota_and_further_ones_are_refused() -> None:
    one = budget()
    mutations = Mutations(Quota(mutated=(one,), is_of_any_client=True))

    assert mutations.take(9, is_strict=True)
    assert mutations.throttle_ms == 0
    assert mutations.take(5, is_strict=True)
    assert 3000 < mutations.throttle_ms <= 4000
    assert not mutations.take(5, is_strict=True)
    assert one.debt_ns(monotonic_ns()) <= 4 * S, "what is refused is not charged"


def test_an_older_client_is_served_and_charged() -> None:
    one = budget()
    mutations = Mutations(Quota(mutated=(one,), is_of_any_client=True))

    assert all(mutations.take(15, is_strict=False) for _ in range(3))

    assert 30_000 < mutations.throttle_ms <= 35_000


def test_every_budget_is_charged_and_any_of_them_refuses() -> None:
    tenant, user = budget(), budget()
    tenant.charge(20, monotonic_ns())
    mutations = Mutations(Quota(mutated=(tenant, user), is_of_any_client=True))

    assert not mutations.take(1, is_strict=True)
    assert user.is_full(monotonic_ns())


def test_only_old_requests_that_change_partitions_wait() -> None:
    assert has_permissive_quota(ApiKey.CREATE_TOPICS, 5)
    assert not has_permissive_quota(ApiKey.CREATE_TOPICS, 6)
    assert not has_permissive_quota(ApiKey.HEARTBEAT, 0)

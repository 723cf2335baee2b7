"""A client is charged to every budget that it has, and waits for the one with the deepest debt."""

import pytest

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.quota import Quota
from bifrost.wire.api_keys import ApiKey

S = 1_000_000_000


def budget(limit: str = "request_rate") -> Budget:
    return Budget(limit, "acme", 1.0, S // 4, 10 * S)


def owing(seconds: float, limit: str = "request_rate") -> Budget:
    one = budget(limit)
    one.charge((seconds + 0.25) * S, monotonic_ns())
    return one


def test_a_request_waits_for_the_budgets_of_its_kind() -> None:
    produced, fetched = owing(5, "producer_byte_rate"), owing(5, "consumer_byte_rate")
    quota = Quota(produced=(produced,), fetched=(fetched,), is_of_any_client=True)

    assert quota.waits_for(ApiKey.PRODUCE) is produced
    assert quota.waits_for(ApiKey.FETCH) is fetched
    assert quota.waits_for(ApiKey.HEARTBEAT) is None


def test_every_request_waits_for_requests_and_for_time() -> None:
    requested, worked = budget(), owing(5, "request_percentage")
    quota = Quota(requested=(requested,), worked=(worked,), is_of_any_client=True)

    for api_key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.HEARTBEAT):
        assert quota.waits_for(api_key) is worked


def test_the_deepest_debt_decides() -> None:
    tenant, namespace, user = owing(2), owing(6), owing(4)
    quota = Quota(requested=(tenant, namespace, user), is_of_any_client=True)

    assert quota.waits_for(ApiKey.HEARTBEAT) is namespace


def test_a_request_waits_behind_those_that_wait_already_but_for_its_turn() -> None:
    one = budget()
    one.waiting = 1
    quota = Quota(requested=(one,), is_of_any_client=True)

    assert quota.waits_for(ApiKey.HEARTBEAT) is one
    assert quota.waits_for(ApiKey.HEARTBEAT, is_its_turn=True) is None


def test_time_is_charged_to_every_budget_of_time() -> None:
    tenant, user = budget(), budget()
    quota = Quota(worked=(tenant, user), is_of_any_client=True)

    quota.spend(S)

    assert quota.waits_for(ApiKey.HEARTBEAT) is not None
    assert not tenant.is_full(monotonic_ns())
    assert not user.is_full(monotonic_ns())


@pytest.mark.parametrize("client_id", [None, b"", b"app"])
def test_a_quota_is_of_one_client_id(client_id: bytes | None) -> None:
    quota = Quota(client_id=client_id)

    assert quota.is_on, "client IDs have to be compared"
    assert [quota.is_client(one) for one in (None, b"", b"app", b"apps")] == [
        one == client_id for one in (None, b"", b"app", b"apps")
    ]


def test_a_quota_without_budgets_of_any_client_costs_nothing() -> None:
    quota = Quota(is_of_any_client=True)

    assert not quota.is_on
    assert quota.is_client(b"app")
    quota.expire()
    assert quota.is_on, "the next request has to look its client up again"
    assert not quota.is_client(b"app")


def test_only_budgets_can_be_charged() -> None:
    with pytest.raises(TypeError):
        Quota(produced=("10 MB",))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Quota(client_id="app")  # type: ignore[arg-type]

import pytest

from bifrost.filters.build import build_plans
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entities import REFUSED, SERVED, served_versions


@pytest.fixture(scope="module")
def plans():
    return build_plans()


@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_every_version_that_is_offered_has_a_plan(plans, api_key: ApiKey) -> None:
    for version in served_versions(api_key):
        plan = plans.plan_for(api_key, version)

        assert (plan.api_key, plan.api_version) == (api_key, version)
        assert plan.is_refused == (api_key in REFUSED)


@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_no_other_version_has_one(plans, api_key: ApiKey) -> None:
    versions = served_versions(api_key)

    assert plans.plan_for(api_key, versions.low - 1) is None
    assert plans.plan_for(api_key, versions.high + 1) is None


@pytest.mark.parametrize("api_key", [ApiKey.WRITE_TXN_MARKERS, ApiKey.PUSH_TELEMETRY, 999, -1])
def test_no_other_api_has_one(plans, api_key: int) -> None:
    assert plans.plan_for(api_key, 0) is None


def test_the_apis_of_the_hot_path_are_done_in_place(plans) -> None:
    for api_key in (ApiKey.PRODUCE, ApiKey.FETCH):
        for version in served_versions(api_key):
            plan = plans.plan_for(api_key, version)

            assert plan.request.program is not None, plan
            assert plan.response.program is not None, plan

import pytest

from bifrost.filters.acls.access_filters import ADMINISTRATION, access_filters, always_decoded
from bifrost.filters.acls.named_access import UndecidedFilter
from bifrost.filters.build import build_plans
from bifrost.tenancy.acls.access import ACCESS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import SERVED, served_versions

OWN = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}


@pytest.mark.parametrize("api_key", sorted(set(SERVED) - OWN))
def test_every_served_api_is_decided_about_first_or_refused(api_key: ApiKey) -> None:
    versions = served_versions(api_key)
    assert versions is not None
    guarded, plain = build_plans().guarded, build_plans()
    for version in range(versions.low, versions.high + 1):
        with_acls, without = guarded.plan_for(api_key, version), plain.plan_for(api_key, version)
        assert with_acls is not None
        assert without is not None

        assert len(with_acls.filters) > len(without.filters)
        assert isinstance(with_acls.filters[0], UndecidedFilter) == (api_key not in ACCESS)
        is_in_place = with_acls.request.program is not None
        assert not is_in_place or ACCESS[api_key].is_in_place, "no request passes that is not decided about"


def test_clients_without_acls_have_the_plans_that_they_had() -> None:
    plans = build_plans()
    plan = plans.plan_for(ApiKey.CREATE_ACLS, 3)

    assert plan is not None
    assert plan.filters != ADMINISTRATION[ApiKey.CREATE_ACLS]
    assert plans.guarded is not plans


def test_only_requests_that_are_answered_before_rights_matter_have_no_filter() -> None:
    assert {api_key for api_key in SERVED if not access_filters(api_key)} == OWN
    assert "StreamsGroupHeartbeatRequest" in set(always_decoded())
    assert "ProduceRequest" not in set(always_decoded())

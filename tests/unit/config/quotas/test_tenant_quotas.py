"""The section `quotas` of a tenant."""

from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.quotas.tenant_quotas import TenantQuotas


def test_rates_are_sizes_and_numbers() -> None:
    quotas = TenantQuotas.model_validate(
        {"producer_byte_rate": "10MiB", "request_percentage": 0.5, "each_user": {"request_rate": 5}}
    )

    assert (quotas.producer_byte_rate, quotas.request_percentage) == (10 * 2**20, 0.5)
    assert quotas.each_user.request_rate == 5
    assert quotas.consumer_byte_rate is None


@pytest.mark.parametrize(
    "section",
    [
        {"producer_byte_rate": 0},
        {"request_rate": 0},
        {"request_rate": -1},
        {"request_rate": "10"},
        {"request_rate": True},
        {"request_rate": float("nan")},
        {"request_rate": float("inf")},
        {"each_user": {"connection_creation_rate": 1}},
        {"each_client_id": {"each_user": {}}},
        {"namespaces": [{"request_rate": 1}]},
        {"namespaces": [{"namespace": "a.b/c"}]},
    ],
)
def test_what_is_no_rate_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TenantQuotas.model_validate(section)


def test_a_namespace_has_one_entry() -> None:
    entry = {"namespace": "analytics:eu", "request_rate": 1}

    with pytest.raises(ValidationError, match="analytics:eu twice"):
        TenantQuotas.model_validate({"namespaces": [entry, entry]})

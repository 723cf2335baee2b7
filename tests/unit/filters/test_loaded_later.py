"""The filters of quotas are loaded by the first request, and no gateway without one has them."""

import subprocess
import sys

import pytest

from bifrost.filters.filter import RequestFilter
from bifrost.filters.loaded_later import LoadedLater
from bifrost.filters.quotas import quota_alteration, quota_description
from bifrost.filters.steps import Answer
from support.stage import messages
from support.stage.stage import Stage


def test_a_gateway_that_starts_has_not_loaded_them() -> None:
    code = "import sys, bifrost.gateway.gateway; sys.exit('bifrost.filters.quotas.quota_alteration' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("module", "found", "request_"),
    [
        (quota_alteration, quota_alteration.QuotaAlterationFilter, messages.AlterClientQuotasRequest()),
        (quota_description, quota_description.QuotaDescriptionFilter, messages.DescribeClientQuotasRequest()),
    ],
)
def test_the_first_request_loads_one(
    stage: Stage, module: object, found: type[RequestFilter], request_: object
) -> None:
    later = LoadedLater(getattr(module, "__name__", ""), found.__name__)

    step = later.on_request(stage.exchange(1), request_)  # type: ignore[arg-type]

    assert isinstance(step, Answer)
    assert type(later._filter) is found

"""What requests cost a broker, about."""

import pytest

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entities import SERVED


@pytest.mark.parametrize("api_key", sorted(SERVED), ids=lambda key: key.name)
def test_every_served_request_costs_something(api_key: ApiKey) -> None:
    assert 10_000 <= broker_cost_ns(api_key) <= 10_000_000


def test_what_the_controller_writes_costs_more_than_what_a_broker_reads() -> None:
    assert broker_cost_ns(ApiKey.CREATE_TOPICS) > 10 * broker_cost_ns(ApiKey.FETCH)

"""What requests cost a broker, about."""

import pytest

from bifrost.forwarding.broker_costs import LOGGED_ERROR_NS, broker_cost_ns
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED
from support.physical_names import physical_name
from support.stage.messages import produce, produced
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage


@pytest.mark.parametrize("api_key", sorted(SERVED), ids=lambda key: key.name)
def test_every_served_request_costs_something(api_key: ApiKey) -> None:
    assert 10_000 <= broker_cost_ns(api_key) <= 10_000_000


def test_what_the_controller_writes_costs_more_than_what_a_broker_reads() -> None:
    assert broker_cost_ns(ApiKey.CREATE_TOPICS) > 10 * broker_cost_ns(ApiKey.FETCH)


@pytest.mark.parametrize(
    ("error", "more_ns"),
    [
        (ErrorCode.NONE, 0),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0),
        (ErrorCode.CORRUPT_MESSAGE, 300_000),
        (ErrorCode.UNKNOWN_SERVER_ERROR, 2 * LOGGED_ERROR_NS),
    ],
)
@pytest.mark.parametrize("is_fast", [True, False], ids=["engine", "session"])
def test_records_that_a_broker_refuses_cost_more(
    stage: Stage, error: ErrorCode, more_ns: int, is_fast: bool
) -> None:
    session, load = stage.play("acme").session, stage.shared.lanes.in_flight_limits.load("acme")
    topics = [physical_name("acme", "orders"), physical_name("acme", "billing")]
    # The engine leaves a header with tagged fields to the session.
    answer = response_frame(produced(*topics, error_code=error), 9, 1, b"\0" if is_fast else b"\1\5\1x")
    session.receive_from_client(request_frame(produce("orders", "billing"), 9, 1))
    before_ns = load.broker_left_ns

    session.receive_from_broker(answer)

    assert before_ns - load.broker_left_ns == more_ns

import pytest

from bifrost.filters.build import build_plans
from bifrost.filters.filter import RequestFilter, ResponseFilter
from bifrost.filters.plan import PEEKED_FIELDS, Plan, Plans
from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import AwaitedQueue, Reason
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.program import Usually
from bifrost.wire.schema import message_schema
from support.stage.lanes import new_lane
from support.stage.messages import fetch, fetched, produce
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import PLANS


class Hosts(ResponseFilter):
    """Says that it takes care of brokers' addresses."""

    ENTITIES = frozenset({Entity.BROKER_HOST})


def test_a_plan_is_made_once() -> None:
    plans = build_plans()

    assert plans.plan_for(ApiKey.METADATA, 9) is plans.plan_for(ApiKey.METADATA, 9)


def test_refusals_are_not_remembered() -> None:
    # The client that sends the pairs chooses how many there are.
    plans = build_plans()
    for version in range(100, 200):
        assert plans.plan_for(ApiKey.METADATA, version) is None
        assert plans.plan_for(version, 0) is None

    assert plans._plans == {}


def test_a_field_that_no_filter_handles_is_noticed() -> None:
    plans = Plans({ApiKey.METADATA: (Hosts(),)}, decoded=frozenset())

    assert plans.plan_for(ApiKey.METADATA, 1) is not None
    with pytest.raises(AssertionError, match=r"MetadataResponse\.ClusterId: no filter handles CLUSTER_ID"):
        plans.plan_for(ApiKey.METADATA, 2)


def test_a_filter_sees_in_every_frame_what_it_wants_to_see() -> None:
    plans = Plans({ApiKey.DELETE_TOPICS: (RequestFilter(),)}, decoded=frozenset({"DeleteTopicsRequest"}))
    plan = plans.plan_for(ApiKey.DELETE_TOPICS, 1)

    assert plan.request.program is None
    assert plan.response.program is not None


@pytest.mark.parametrize(("version", "is_flexible"), [(0, False), (2, False), (3, True), (4, True)])
def test_the_header_of_an_api_versions_response_never_has_tags(version: int, is_flexible: bool) -> None:
    plan = PLANS.plan_for(ApiKey.API_VERSIONS, version)

    assert plan.request.is_flexible_header == is_flexible
    assert not plan.response.is_flexible_header


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_acks_are_read_without_decoding(version: int, acks: int) -> None:
    plan = PLANS.plan_for(ApiKey.PRODUCE, version)
    transaction = {"transactional_id": "a transaction"} if version >= 3 else {}
    frame = request_frame(produce(acks=acks, **transaction), version, 1, client_id=None, header_tags=b"\0")

    assert plan.request_peek(frame, 10 + plan.request.is_flexible_header) == (acks,)


@pytest.mark.parametrize("version", range(19))
def test_a_fetch_session_is_read_without_decoding(version: int) -> None:
    plan = PLANS.plan_for(ApiKey.FETCH, version)
    has_session, has_replica = version >= 7, version <= 14
    session = {"session_id": 5, "session_epoch": 6} if has_session else {}
    replica = {"replica_id": 7} if has_replica else {}
    request = request_frame(fetch(**session, **replica), version, 1, client_id=None)
    response = response_frame(fetched(session_id=5 if has_session else 0), version, 1)

    read = plan.request_peek(request, 10 + plan.request.is_flexible_header)

    # What a version lacks reads as its default.
    assert read == (7 if has_replica else -1, *((5, 6) if has_session else (0, -1)))
    assert plan.response_peek(response, 4 + plan.response.is_flexible_header) == (5 if has_session else 0,)


class Asked(Forwarding):
    """A session of one lane: it notes whether it was asked about a message."""

    def __init__(self, plan: Plan) -> None:
        self.times = 0
        self._lanes = {plan.api_key << 16 | plan.api_version: new_lane(plan.api_key, plan.api_version)}
        self._queue, self._max_in_flight, self.to_broker = AwaitedQueue(), 1, []

    def judge_request_fields(self, _plan: Plan, _fields: tuple[int, ...]) -> Reason:
        self.times += 1
        return Reason.PASSES

    def forwards(self, frame: bytes) -> bool:
        return self.forward_request(frame) == Reason.PASSES


@pytest.mark.parametrize("version", range(3, 14))
def test_no_filter_is_asked_about_a_produce_that_is_answered(version: int) -> None:
    for acks, times in ((-1, 0), (1, 0), (0, 1)):
        asked = Asked(PLANS.plan_for(ApiKey.PRODUCE, version))
        assert asked.forwards(request_frame(produce(acks=acks), version, 1))
        assert asked.times == times


@pytest.mark.parametrize("version", range(7, 19))
def test_no_filter_is_asked_about_a_fetch_without_a_session(version: int) -> None:
    replica = {"replica_id": 7} if version <= 14 else {"session_id": 1}
    for fields, times in (({}, 0), ({"session_epoch": 0}, 0), ({"session_id": 5}, 1), (replica, 1)):
        asked = Asked(PLANS.plan_for(ApiKey.FETCH, version))
        assert asked.forwards(request_frame(fetch(**fields), version, 1))
        assert asked.times == times


def test_what_a_version_lacks_is_as_usual() -> None:
    """Else the engine would pass what the session is to be asked about."""
    defaults = {Usually.ZERO: 0, Usually.NEGATIVE: -1}
    for message, fields in PEEKED_FIELDS.items():
        for field in message_schema(message).fields:
            usually = fields.get(field.kafka_name)
            assert usually not in defaults or field.default == defaults[usually]


def test_nothing_else_is_read_so() -> None:
    assert set(PEEKED_FIELDS) == {"ProduceRequest", "FetchRequest", "FetchResponse"}
    assert PLANS.plan_for(ApiKey.METADATA, 9).request_peek is None


def test_a_layout_is_compiled_for_the_version() -> None:
    plan = PLANS.plan_for(ApiKey.METADATA, 9)

    assert (plan.request.message, plan.request.version) == ("MetadataRequest", 9)
    assert plan.request.layout is plan.request.layout

"""Requests beyond a limit are answered with an error where the protocol has a place for one."""

import pytest

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.session import decoded_request
from bifrost.session.decoded_request import (
    MAX_DECODED_REQUEST_BYTES,
    MAX_OTHER_DECODED_BYTES,
    REQUEST_BYTES_LIMIT,
    REQUEST_ITEMS_LIMIT,
    exceeded_limit,
    is_decodable,
    max_items,
)
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    OffsetCommitRequest,
)
from support.physical_names import physical_name
from support.stage.messages import fetch, metadata, produce, topic_id
from support.stage.playbook import (
    broker_answers,
    client_sends,
    learns,
    looks_up,
    request_frame,
    to_broker,
    to_client,
)
from support.stage.stage import PLANS, Stage, Tenant


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_request, "_SMALL_BYTES", 100)


def find_coordinators(count: int, length: int = 3) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(coordinator_keys=[f"{number:0{length}}" for number in range(count)])


def test_what_is_always_decoded_has_a_smaller_largest_size() -> None:
    find_coordinator, fetch = PLANS.plan_for(ApiKey.FIND_COORDINATOR, 6), PLANS.plan_for(ApiKey.FETCH, 12)
    sync_group = PLANS.plan_for(ApiKey.SYNC_GROUP, 5)
    assert find_coordinator is not None
    assert fetch is not None
    assert sync_group is not None

    assert is_decodable(find_coordinator, MAX_DECODED_REQUEST_BYTES)
    assert not is_decodable(find_coordinator, MAX_DECODED_REQUEST_BYTES + 1)
    for plan in (fetch, sync_group):
        assert is_decodable(plan, MAX_OTHER_DECODED_BYTES)
        assert not is_decodable(plan, MAX_OTHER_DECODED_BYTES + 1)


def test_as_many_items_as_may_be_are_let_through(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_request, "_MAX_ITEMS", {ApiKey.FIND_COORDINATOR: 50})
    physical = FindCoordinatorRequest(coordinator_keys=[physical_name("acme", f"{n:03}") for n in range(50)])

    assert stage.play() >> client_sends(find_coordinators(50)) << to_broker(physical)


def test_one_more_is_answered_item_by_item(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_request, "_MAX_ITEMS", {ApiKey.FIND_COORDINATOR: 50})
    coordinator = FindCoordinatorResponse.Coordinator
    text = "The request is larger than this gateway takes: at most 50 items"
    refused = [
        coordinator(key=f"{n:03}", node_id=-1, host="", port=-1, error_code=42, error_message=text)
        for n in range(51)
    ]

    book = stage.play() >> client_sends(find_coordinators(51))

    assert book << to_client(FindCoordinatorResponse(coordinators=refused))
    assert stage.shared.lanes.in_flight_limits.hits == {(REQUEST_ITEMS_LIMIT, "acme"): 1}


def test_the_connection_goes_on_after_a_refusal(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_request, "MAX_DECODED_REQUEST_BYTES", 500)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    large = JoinGroupRequest(
        group_id="g", protocol_type="x", protocols=[protocol(name="x", metadata=bytes(600))]
    )
    refused = JoinGroupResponse(error_code=ErrorCode.INVALID_REQUEST, protocol_name=None)

    assert (
        stage.play()
        >> client_sends(large, 9)
        << to_client(refused)
        >> client_sends(HeartbeatRequest(group_id="g"))
        << to_broker(HeartbeatRequest(group_id=physical_name("acme", "g")))
        >> broker_answers(HeartbeatResponse())
        << to_client(HeartbeatResponse())
    )
    assert stage.shared.lanes.in_flight_limits.hits == {(REQUEST_BYTES_LIMIT, "acme"): 1}


def test_items_of_nested_lists_count() -> None:
    plan = PLANS.plan_for(ApiKey.OFFSET_COMMIT, 9)
    assert plan is not None

    def commit(topics: int, partitions: int) -> bytes:
        topic, partition = (
            OffsetCommitRequest.OffsetCommitRequestTopic,
            OffsetCommitRequest.OffsetCommitRequestPartition,
        )
        request = OffsetCommitRequest(
            group_id="g",
            topics=[
                topic(name=f"t{n}", partitions=[partition(partition_index=i) for i in range(partitions)])
                for n in range(topics)
            ],
        )
        return request_frame(request, 9, 1, b"client", b"\0")

    offset = 10 + len(b"client") + 1
    assert exceeded_limit(plan, commit(10, 9), offset, 100) == (None, 100)
    assert exceeded_limit(plan, commit(10, 10), offset, 100)[0] == REQUEST_ITEMS_LIMIT
    assert exceeded_limit(plan, commit(1, 100), offset, 100)[0] == REQUEST_ITEMS_LIMIT


def test_items_are_charged_once_although_the_request_waits_for_a_look_up(stage: Stage) -> None:
    load = stage.shared.lanes.in_flight_limits.load("acme")
    before_ns = load.broker_left_ns
    own, name = [topic_id(f"{number}") for number in range(10)], physical_name("acme", "orders")
    request = fetch(own[0])
    request.topics = [fetch(one).topics[0] for one in own]

    book = stage.play() >> client_sends(request) << looks_up(set(own))
    assert load.broker_left_ns == before_ns
    assert book >> learns(dict.fromkeys(own, name)) << to_broker(request)

    items = len(own) + sum(len(topic.partitions) for topic in request.topics)
    assert load.broker_left_ns == before_ns - items * ITEM_NS - broker_cost_ns(ApiKey.FETCH)


def test_records_are_no_items(stage: Stage) -> None:
    book = stage.play() >> client_sends(produce("orders", records=bytes(2 * 1024 * 1024)), 9)

    assert book << to_broker(produce(physical_name("acme", "orders"), records=bytes(2 * 1024 * 1024)))


def test_every_limit_lets_a_small_client_through() -> None:
    assert min(max_items(api_key) for api_key in ApiKey) >= 2_000


def test_a_small_request_is_not_counted(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
    )


@pytest.mark.parametrize(
    ("partitions", "most"),
    [(1, 20_000), (10_000, 20_000), (30_000, 60_000), (50_000, 100_000), (10**8, 100_000)],
)
def test_a_tenant_that_may_have_more_partitions_may_name_more(partitions: int, most: int) -> None:
    assert max_items(ApiKey.LIST_OFFSETS, partitions) == most
    assert max_items(ApiKey.FIND_COORDINATOR, partitions) == 10_000
    assert max_items(ApiKey.LIST_OFFSETS, partitions, is_single=True) == 10_000


@pytest.mark.parametrize(("max_partitions", "is_refused"), [(50, True), (51, False)])
def test_a_request_may_name_all_partitions_that_its_tenant_may_have(
    max_partitions: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_request, "USUAL_ITEMS", 10)
    stage = Stage({"acme": Tenant(max_topics=100, max_partitions=max_partitions)})
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=f"t{n}") for n in range(51)]
    for one in topics:
        one.partitions = [ListOffsetsRequest.ListOffsetsPartition()]

    stage.play() >> client_sends(ListOffsetsRequest(topics=topics))

    assert bool(stage.shared.lanes.in_flight_limits.hits) == is_refused


def test_at_a_single_address_a_request_has_fewer_items() -> None:
    assert max_items(ApiKey.FETCH) == 100_000
    assert max_items(ApiKey.FETCH, is_single=True) == 10_000
    assert max_items(ApiKey.DELETE_GROUPS, is_single=True) == 2_000
    assert max_items(ApiKey.FIND_COORDINATOR, is_single=True) == 2_000
    assert max_items(ApiKey.DESCRIBE_CONFIGS, is_single=True) == 2_000


def test_a_request_with_more_than_that_is_refused_there(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_request, "_MAX_KEYS_TAKEN_APART", {ApiKey.FIND_COORDINATOR: 20})
    request, none = find_coordinators(30), -1
    book = stage.play()
    book.session.needs_whole = True

    refused = [
        FindCoordinatorResponse.Coordinator(
            key=one,
            node_id=none,
            host="",
            port=none,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="The request is larger than this gateway takes: at most 20 items",
        )
        for one in request.coordinator_keys
    ]
    assert book >> client_sends(request, 6) << to_client(FindCoordinatorResponse(coordinators=refused))

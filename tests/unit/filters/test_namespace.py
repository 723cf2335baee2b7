"""Decoded messages between virtual and physical names, as the schema says."""

import pytest

from bifrost.filters import namespace as translation
from bifrost.filters.steps import FORWARD, Close, TopicIds
from bifrost.tenancy.topic_ids import ABSENT_FOR_MS, FEW_IDS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.entity import Entity
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.rewriting import Names
from bifrost.wire.schema import message_schema
from bifrost.wire.steps import set_pause
from support.physical_names import physical_name
from support.stage import messages
from support.stage.stage import PLANS, Stage

OWN, FOREIGN, UNKNOWN = b"own topic ID....", b"foreign topic ID", b"unknown topic ID"


@pytest.fixture
def acme(stage: Stage):
    stage.topic_ids.learn(OWN, physical_name("acme", "orders").encode())
    stage.topic_ids.learn(FOREIGN, physical_name("globex", "orders").encode())
    return stage.namespaces["acme"]


def test_names_at_every_depth_become_physical(acme) -> None:
    request = messages.TxnOffsetCommitRequest(
        transactional_id="t", group_id="g", member_id="m", topics=[{"name": "orders"}, {"name": "users"}]
    )

    translation.to_physical(acme, request, 3)

    assert request == messages.TxnOffsetCommitRequest(
        transactional_id=physical_name("acme", "t"),
        group_id=physical_name("acme", "g"),
        member_id="m",
        topics=[{"name": physical_name("acme", "orders")}, {"name": physical_name("acme", "/users")}],
    )


def test_arrays_of_names_become_physical(acme) -> None:
    request = messages.DescribeGroupsRequest(groups=["a", "b"])

    translation.to_physical(acme, request, 5)

    assert request.groups == [physical_name("acme", "a"), physical_name("acme", "b")]


def test_what_is_null_stays_null(acme) -> None:
    request = messages.MetadataRequest(topics=None)
    produce = messages.ProduceRequest(transactional_id=None)

    translation.to_physical(acme, request, 9)
    translation.to_physical(acme, produce, 9)

    assert request.topics is None
    assert produce.transactional_id is None


def test_a_field_that_the_version_lacks_is_not_looked_at(acme) -> None:
    request = messages.DeleteTopicsRequest(topics=[{"name": "orders"}], topic_names=["orders"])

    translation.to_physical(acme, request, 5)

    assert (request.topics[0].name, request.topic_names) == ("orders", [physical_name("acme", "orders")])


def test_a_name_without_room_for_the_prefix_is_malformed(acme) -> None:
    with pytest.raises(MalformedFrame, match="no room"):
        translation.to_physical(acme, messages.DescribeGroupsRequest(groups=["g" * 32_767]), 5)


def test_ids_of_a_request_must_be_known(acme) -> None:
    request = messages.DeleteTopicsRequest(
        topics=[{"name": None, "topic_id": one} for one in (OWN, UNKNOWN, FOREIGN, bytes(16))]
    )

    assert translation.unknown_topic_ids(acme, request, 6) == TopicIds(frozenset({UNKNOWN, FOREIGN}))
    own = messages.DeleteTopicsRequest(topics=request.topics[:1])
    assert translation.unknown_topic_ids(acme, own, 6) is None


def test_ids_of_a_request_that_is_not_decoded_are_found_together(acme) -> None:
    plan = PLANS.plan_for(ApiKey.PRODUCE, 13)
    assert plan.request.program is not None

    def found(ids: list[bytes]) -> TopicIds | None:
        topics = [{"topic_id": one, "partition_data": [{"index": 0, "records": b"r" * 99}]} for one in ids]
        frame = encode_body(plan.request.layout, messages.ProduceRequest(topic_data=topics))
        return translation.unknown_topic_ids_in_place(acme, plan.request.program, frame, 0)

    made_up = [number.to_bytes(16, "big") for number in range(1, 100)]
    assert found([OWN, UNKNOWN, FOREIGN, *made_up[:9]]) == TopicIds(
        frozenset({UNKNOWN, FOREIGN, *made_up[:9]})
    )
    many = found(made_up)
    assert many is not None
    assert len(many.ids) == FEW_IDS + 1
    assert acme.unresolved == set()

    acme.topics_were_listed()
    assert found(made_up) is None
    assert found([OWN]) is None
    assert found([UNKNOWN]) == TopicIds(frozenset({UNKNOWN}))


def test_names_that_mask_need_no_look_up(stage: Stage, acme) -> None:
    names = translation.masking(acme, acme.to_physical)

    ids = [names.missing(Entity.TOPIC_ID, one) for one in (OWN, UNKNOWN, FOREIGN)]
    assert ids == [OWN, stage.masked(UNKNOWN), stage.masked(FOREIGN)]
    assert acme.unresolved == set()
    assert names.missing(Entity.TOPIC_NAME, b"orders") == physical_name("acme", "orders").encode()
    # A topic of the tenant that has no place here is not masked: what it needs is found out when it is decoded.
    assert translation.masking(acme, Names(lambda *_: None)).missing(Entity.TOPIC_ID, OWN) is None


def test_an_id_whose_absence_is_forgotten_in_the_meantime_is_masked(stage: Stage, acme) -> None:
    acme.looked_up([UNKNOWN])
    request = messages.DeleteTopicsRequest(topics=[{"name": None, "topic_id": UNKNOWN}])
    assert translation.unknown_topic_ids(acme, request, 6) is None
    stage.now_ms += ABSENT_FOR_MS

    translation.to_physical(acme, request, 6)

    assert request.topics[0].topic_id == stage.masked(UNKNOWN)
    assert acme.unresolved == set()


def test_names_in_a_response_become_virtual_and_foreign_ones_are_dropped(acme) -> None:
    names = [
        physical_name("globex", "orders"),
        physical_name("acme", "orders"),
        "x",
        physical_name("acme", "/users"),
    ]
    response = messages.DeleteTopicsResponse(responses=[{"name": name} for name in names])

    assert translation.to_virtual(acme, response, 4) is FORWARD
    assert [result.name for result in response.responses] == ["orders", "users"]


def test_the_smallest_element_around_a_foreign_name_is_dropped(acme) -> None:
    def group(group_id: str, *topics: str):
        return {"group_id": group_id, "topics": [{"name": name} for name in topics]}

    response = messages.OffsetFetchResponse(
        groups=[
            group(
                physical_name("acme", "a"), physical_name("acme", "orders"), physical_name("globex", "orders")
            ),
            group(physical_name("globex", "b"), physical_name("acme", "orders")),
            group(physical_name("acme", "c"), "x"),
        ]
    )

    assert translation.to_virtual(acme, response, 8) is FORWARD
    assert response == messages.OffsetFetchResponse(groups=[group("a", "orders"), group("c")])


def test_very_many_foreign_elements_are_freed_in_steps(acme) -> None:
    response = messages.ListGroupsResponse(
        groups=[{"group_id": f"foreign{number}"} for number in range(3200)]
    )
    pauses: list[int] = []
    set_pause(lambda: pauses.append(len(groups)))
    groups = response.groups
    try:
        assert translation.to_virtual(acme, response, 4) is FORWARD
    finally:
        set_pause(None)

    assert response.groups == groups == []
    assert sum(0 < left < 3200 for left in pauses) >= 2


def test_a_nullable_struct_around_a_foreign_name_becomes_null(acme) -> None:
    response = messages.DescribeTopicPartitionsResponse(
        next_cursor={"topic_name": physical_name("globex", "orders")}
    )

    assert translation.to_virtual(acme, response, 0) is FORWARD
    assert response.next_cursor is None


def test_an_answer_that_carries_name_and_id_teaches_whose_it_is(stage: Stage, acme) -> None:
    response = messages.MetadataResponse(
        topics=[
            {"name": physical_name("acme", "billing"), "topic_id": UNKNOWN},
            {"name": physical_name("initech", "x"), "topic_id": b"another tenant's"},
        ]
    )

    assert translation.to_virtual(acme, response, 12) is FORWARD
    assert [(topic.name, topic.topic_id) for topic in response.topics] == [("billing", UNKNOWN)]
    assert stage.topic_ids.name_of(UNKNOWN) == physical_name("acme", "billing").encode()
    assert stage.topic_ids.name_of(b"another tenant's") is None


def test_a_response_with_an_unknown_id_is_not_complete(acme) -> None:
    response = messages.FetchResponse(responses=[{"topic_id": UNKNOWN}, {"topic_id": OWN}])

    assert translation.to_virtual(acme, response, 13) == TopicIds(frozenset({UNKNOWN}))
    assert acme.unresolved == set()


def test_a_foreign_name_outside_every_array_cannot_be_left_out(acme, monkeypatch: pytest.MonkeyPatch) -> None:
    # No response has one today; a request has, and is as good an example.
    assert not any(field.entity_type for field in message_schema("HeartbeatResponse").fields)
    response = messages.HeartbeatRequest(group_id=physical_name("globex", "g"))

    step = translation.to_virtual(acme, response, 4)

    assert step == Close("HeartbeatRequest v4 is not about acme's")


def test_error_texts_become_virtual_and_null_stays_null(acme) -> None:
    response = messages.CreatePartitionsResponse(
        results=[
            {
                "name": physical_name("acme", "orders"),
                "error_message": f"Topic '{physical_name('acme', 'orders')}' has 3",
            },
            {"name": physical_name("acme", "billing"), "error_message": None},
        ]
    )

    assert translation.to_virtual(acme, response, 3) is FORWARD
    assert [result.error_message for result in response.results] == ["Topic 'orders' has 3", None]

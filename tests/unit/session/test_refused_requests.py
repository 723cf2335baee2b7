"""Every request that is too large is answered in the words of its API, and its connection goes on."""

from typing import Any

import pytest

from bifrost.filters.error_places import error_place
from bifrost.filters.error_response import MAX_TEXTS, error_response, top_level_error
from bifrost.filters.plan import Plan
from bifrost.session import decoded_request
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.decoded_request import (
    MAX_ANSWERED_BYTES,
    MAX_DECODED_REQUEST_BYTES,
    MAX_ITEMS,
    REQUEST_BYTES_LIMIT,
    is_decodable,
    refusal,
)
from bifrost.session.session_lanes import OWN_APIS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.messages import (
    CreateTopicsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    ProduceRequest,
)
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import Field, FieldType, request_schema
from support.physical_names import physical_name
from support.stage.counted_pauses import counted_pauses
from support.stage.playbook import broker_answers, client_sends, ends, to_broker, to_client
from support.stage.stage import PLANS, Stage

INVALID = ErrorCode.INVALID_REQUEST


def plan_for(api: int, version: int) -> Plan:
    plan = PLANS.plan_for(api, version)
    assert plan is not None
    return plan


def ends_of_versions(api: int) -> set[int]:
    versions = served_versions(api)
    return set() if versions is None else {versions.low, versions.high}


ALL = [
    (api, version)
    for api in (*SERVED, *REFUSED)
    if api not in OWN_APIS
    for version in sorted(ends_of_versions(api))
]
DECODED = [(api, version) for api, version in ALL if plan_for(api, version).request.program is None]

VALUES: dict[FieldType, Any] = {
    FieldType.BOOL: True,
    FieldType.BYTES: b"bytes",
    FieldType.FLOAT64: 1.5,
    FieldType.RECORDS: b"records",
    FieldType.STRING: "a name",
    FieldType.UUID: b"a topic's own ID",
}


def filled(api: int, version: int) -> Message:
    """Return a request with three elements in each of its lists; the strings of an element differ from another's."""
    schema = request_schema(api)
    cls: type[Message] = message_class(schema.name)
    request = structs(cls, cls, schema.fields, version, 0)
    assert isinstance(request, Message)
    return request


def structs(
    cls: type[Struct], message: type[Message], fields: tuple[Field, ...], version: int, n: int
) -> Struct:
    struct = cls()
    for field in fields:
        if version in field.versions:
            setattr(struct, field.name, filled_field(field, message, version, n))
    return struct


def filled_field(field: Field, message: type[Message], version: int, n: int) -> Any:
    if field.is_tagged(version):
        return [] if field.default == () and field.is_array else field.default
    values = [filled_value(field, message, version, number) for number in range(3)]
    return values if field.is_array else filled_value(field, message, version, n)


def filled_value(field: Field, message: type[Message], version: int, n: int) -> Any:
    if field.type is FieldType.STRUCT:
        return structs(getattr(message, str(field.struct_name)), message, field.fields, version, n)
    if field.name == "acks":
        return 1
    value = VALUES.get(field.type, n)
    return f"{value} {n}" if field.type is FieldType.STRING else value


def expected(request: Message, version: int, text: str) -> Message:
    """Return the answer to the whole request, which tests/golden compares with Kafka's own."""
    api = request.SCHEMA.api_key
    assert api is not None
    answer = top_level_error(api, version, INVALID, text)
    answer = answer or error_response(request, version, INVALID, message=text)
    assert answer is not None
    return answer


def refused(request: Message, version: int) -> Any:
    """Return the answer to a request that is too large, as the client decodes it."""
    api = request.SCHEMA.api_key
    assert api is not None
    layout = compile_layout(request.SCHEMA.name, version)
    return refusal(plan_for(api, version), encode_body(layout, request), 0)


@pytest.mark.parametrize(("api", "version"), DECODED, ids=lambda value: getattr(value, "name", value))
def test_a_request_too_large_to_be_decoded_is_answered_and_the_connection_goes_on(
    api: ApiKey, version: int, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_SMALL_BYTES", "MAX_DECODED_REQUEST_BYTES", "MAX_OTHER_DECODED_BYTES", "MAX_RECORDS_BYTES"):
        monkeypatch.setattr(decoded_request, name, 0)
    request = filled(api, version)
    text = "The request is larger than this gateway takes: at most 100000 items and 0 bytes"
    monkeypatch.setattr(decoded_request, "_MAX_ITEMS", {})
    answer = expected(request, version, text)

    book = stage.play() >> client_sends(request, version) << to_client(answer)

    assert stage.shared.lanes.in_flight_limits.hits == {(REQUEST_BYTES_LIMIT, "acme"): 1}
    assert (
        book
        >> client_sends(HeartbeatRequest(group_id="g"))
        << to_broker(HeartbeatRequest(group_id=physical_name("acme", "g")))
        >> broker_answers(HeartbeatResponse())
        << to_client(HeartbeatResponse())
    )


@pytest.mark.parametrize(("api", "version"), ALL, ids=lambda value: getattr(value, "name", value))
def test_every_item_of_a_refused_request_has_an_error(api: ApiKey, version: int) -> None:
    if error_place(api, version).error is None:
        request = filled(api, version)
        text = f"The request is larger than this gateway takes: at most {MAX_ITEMS} items"
        assert refused(request, version) == expected(request, version, text)


def test_only_a_produce_that_asks_for_no_answer_ends_its_connection(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_request, "USUAL_ITEMS", 1)
    monkeypatch.setattr(decoded_request, "_SMALL_BYTES", 0)
    monkeypatch.setattr(decoded_request, "MAX_ITEMS", 1)
    request: Any = filled(ApiKey.PRODUCE, 9)
    request.acks = 0

    assert stage.play() >> client_sends(request, 9) << ends(CloseReason.FRAME_TOO_LARGE, "PRODUCE of ")


def test_a_request_without_items_has_no_place_for_an_error() -> None:
    with pytest.raises(SessionEnded, match="FIND_COORDINATOR of 3 bytes"):
        refused(FindCoordinatorRequest(), 4)


def test_a_request_of_more_than_a_mib_is_answered_for_all_topics_although_it_has_many_configs() -> None:
    topic, config = CreateTopicsRequest.CreatableTopic, CreateTopicsRequest.CreatableTopicConfig
    configs = [config(name="retention.ms", value="123456"), config(name="cleanup.policy", value="compact")]
    request = CreateTopicsRequest(
        topics=[
            topic(name=f"a-topic-with-a-usual-name-{number}", configs=configs) for number in range(20_000)
        ]
    )
    layout = compile_layout("CreateTopicsRequest", 7)
    assert MAX_DECODED_REQUEST_BYTES < len(encode_body(layout, request)) < MAX_ANSWERED_BYTES

    with counted_pauses() as pauses:
        answer = refused(request, 7)

    assert [one.name for one in answer.topics] == [one.name for one in request.topics]
    assert {one.error_code for one in answer.topics} == {INVALID}
    assert pauses.count > 60_000 / 64


def test_the_answer_is_bounded_in_items_texts_and_bytes() -> None:
    short, long = FindCoordinatorRequest(), FindCoordinatorRequest()
    short.coordinator_keys = ["k"] * 600_000
    long.coordinator_keys = [f"{number:030000}" for number in range(200)]
    assert not is_decodable(plan_for(ApiKey.FIND_COORDINATOR, 6), 2 * len(short.coordinator_keys))

    of_short, of_long = refused(short, 6).coordinators, refused(long, 6).coordinators

    assert len(of_short) == MAX_ITEMS
    assert sum(one.error_message is not None for one in of_short) == MAX_TEXTS
    assert MAX_ANSWERED_BYTES < sum(len(one.key) for one in of_long) < MAX_ANSWERED_BYTES + 2 * 30_000


def test_records_of_a_refused_produce_are_not_read() -> None:
    data = ProduceRequest.TopicProduceData(name="a")
    data.partition_data = [
        ProduceRequest.PartitionProduceData(index=n, records=bytes(3 << 20)) for n in (0, 1, 2)
    ]

    (answer,) = refused(ProduceRequest(acks=-1, topic_data=[data]), 9).responses

    assert [(one.index, one.error_code) for one in answer.partition_responses] == [
        (n, INVALID) for n in (0, 1, 2)
    ]

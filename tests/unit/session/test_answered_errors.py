"""Every error code of an answer is counted, wherever it stands; for those that pass the engine: test_traffic.py."""

from typing import Any

import pytest

from bifrost.forwarding.lane import Awaited
from bifrost.forwarding.traffic import Traffic
from bifrost.session.answered_errors import count_errors, count_own_errors, error_of_api_versions
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import message_class
from bifrost.wire.program import error_codes
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.schema import Field, FieldType, all_schemas
from support.stage import messages
from support.stage.lanes import new_lane
from support.stage.playbook import response_frame

RESPONSES = [one for one in all_schemas() if one.name.endswith("Response")]


def fill(message: Any, struct: Any, fields: tuple[Field, ...], version: int) -> int:
    """Plant an error in each place for one, two in lists; return how many."""
    planted = 0
    for field in fields:
        if version not in field.versions or field.is_tagged(version):
            continue
        if field.type is FieldType.INT16 and field.name.endswith("error_code"):
            setattr(struct, field.name, 7)
            planted += 1
        elif field.type is FieldType.RECORDS:
            setattr(struct, field.name, b"")
        elif field.type is FieldType.STRUCT:
            made = [getattr(message, str(field.struct_name))() for _ in range(2 if field.is_array else 1)]
            planted += sum(fill(message, one, field.fields, version) for one in made)
            setattr(struct, field.name, made if field.is_array else made[0])
    return planted


@pytest.mark.parametrize("schema", RESPONSES, ids=lambda schema: schema.name)
def test_every_error_code_of_every_response_is_found(schema: Any) -> None:
    for version in schema.versions:
        message = message_class(schema.name)()
        planted = fill(message_class(schema.name), message, schema.fields, version)
        frame = encode_body(compile_layout(schema.name, version), message)

        found = error_codes(compile_program(schema.name, version, {}), frame, 0)

        assert found == ([(7, planted)] if planted else [])


def whole(message: Any, version: int) -> bytes:
    frame = response_frame(message, version, 1)
    return len(frame).to_bytes(4, "big") + frame


def test_own_answers_count_as_the_gateway_s() -> None:
    traffic, lane = Traffic(), new_lane(ApiKey.HEARTBEAT, 4)
    answer = whole(messages.HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID), 4)

    count_own_errors(traffic, lane, answer)
    count_own_errors(traffic, lane, whole(messages.HeartbeatResponse(), 4))
    count_own_errors(traffic, None, b"")

    assert traffic.errors == [(ErrorCode.INVALID_GROUP_ID, True, 1), (ErrorCode.UNSUPPORTED_VERSION, True, 1)]


def test_of_api_versions_only_the_first_field_is_read() -> None:
    lane, traffic = new_lane(ApiKey.API_VERSIONS, 3), Traffic()
    answer = bytes(8) + ErrorCode.INVALID_REQUEST.to_bytes(2, "big")

    count_own_errors(traffic, lane, answer)
    count_own_errors(traffic, lane, bytes(10))

    assert error_of_api_versions(answer) == ErrorCode.INVALID_REQUEST
    assert traffic.errors == [(ErrorCode.INVALID_REQUEST, True, 1)]


def test_a_broker_s_answer_counts_as_the_client_gets_it() -> None:
    lane = new_lane(ApiKey.HEARTBEAT, 4)
    answer = whole(messages.HeartbeatResponse(error_code=25), 4)

    count_errors(Awaited(1, lane, None), None, [answer])
    count_errors(Awaited(1, lane, None), (answer[4:], 5), [])

    assert lane.traffic.errors == [(25, False, 2)]

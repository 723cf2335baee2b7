from typing import Any

import pytest

from bifrost.gateway.routing.request import Request, read_request
from bifrost.gateway.routing.share_calls import RECORD_LIMIT, ShareCall, part_of
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ShareAcknowledgeRequest, ShareFetchRequest
from support.stage.playbook import request_frame


def request_of(message: Message, version: int = 2) -> Request:
    frame = request_frame(message, version, 77)
    return read_request([len(frame).to_bytes(4, "big") + frame])


def call_of(message: Message) -> ShareCall:
    turn: Any = None
    return ShareCall(turn, request_of(message))


@pytest.mark.parametrize("version", [1, 2])
def test_a_part_has_the_header_of_the_clients_request(version: int) -> None:
    asked = request_of(ShareFetchRequest(group_id="group"), version)
    message = ShareAcknowledgeRequest(group_id="group", share_session_epoch=3)

    part = read_request(part_of(asked, ApiKey.SHARE_ACKNOWLEDGE, message).segments)

    assert (part.api_key, part.api_version) == (ApiKey.SHARE_ACKNOWLEDGE, version)
    assert part.decoded() == message
    assert part.response_head == asked.response_head
    assert part.whole[8 : part.body] == asked.whole[8 : asked.body]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (ShareFetchRequest(max_wait_ms=5), ErrorCode.NONE),
        (ShareFetchRequest(share_session_epoch=3, max_bytes=0, is_renew_ack=True), ErrorCode.NONE),
        (ShareFetchRequest(share_session_epoch=3, max_bytes=9, is_renew_ack=True), ErrorCode.INVALID_REQUEST),
        (ShareAcknowledgeRequest(share_session_epoch=3, is_renew_ack=True), ErrorCode.NONE),
        (ShareAcknowledgeRequest(share_session_epoch=0), ErrorCode.INVALID_SHARE_SESSION_EPOCH),
    ],
)
def test_what_is_wrong_whatever_the_session_is(message: Message, code: ErrorCode) -> None:
    assert call_of(message).refusal() == code


def test_only_a_fetch_that_does_not_renew_locks_asks_for_records() -> None:
    final = call_of(ShareFetchRequest())
    final.is_final = True

    assert call_of(ShareFetchRequest()).is_fetching
    assert not call_of(ShareFetchRequest(is_renew_ack=True)).is_fetching
    assert not call_of(ShareAcknowledgeRequest()).is_fetching
    assert not final.is_fetching


def test_a_number_of_records_is_asked_of_one_broker_after_the_other() -> None:
    assert call_of(ShareFetchRequest(share_acquire_mode=RECORD_LIMIT)).is_one_by_one
    assert not call_of(ShareFetchRequest()).is_one_by_one
    assert not call_of(ShareAcknowledgeRequest()).is_one_by_one

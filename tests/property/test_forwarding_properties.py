"""The short way of a frame and the long one: whether the engine forwards it or not, everybody gets the same bytes."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from bifrost.session import client_session
from bifrost.session.close_reason import SessionEnded
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entities import REFUSED, SERVED, served_versions
from bifrost.wire.errors import WireError
from bifrost.wire.schema import FieldType, request_schema, response_schema
from frame_mutations import MUTATIONS
from support import messages
from support.playbook import request_frame, response_frame
from support.sample import sample
from support.stage import Stage

MUTATIONS_PER_FRAME = 12
OWN, FOREIGN = "orders", "users"
OWN_ID, FOREIGN_ID, UNKNOWN_ID = b"an own topic ID.", b"a foreign one's.", b"an ID of nobody."


def frames_of(api_key: int, rng: random.Random) -> list[tuple[bytes, bytes]]:
    """Requests with answers to them, sound and spoilt, at every version."""
    frames = []
    for version in served_versions(api_key) or ():
        for topic, topic_id in ((OWN, OWN_ID), (FOREIGN, FOREIGN_ID), ("nobody's", UNKNOWN_ID)):
            values: dict[FieldType, Any] = {FieldType.STRING: topic, FieldType.UUID: topic_id}
            request = sample(request_schema(api_key).name, version, _giver(values))
            values = {FieldType.STRING: f"__vt_acme_{topic}", FieldType.UUID: topic_id}
            answer = sample(response_schema(api_key).name, version, _giver(values))
            sound = request_frame(request, version, 1), response_frame(answer, version, 1)
            frames.append(sound)
            for _ in range(MUTATIONS_PER_FRAME):
                spoilt = [bytearray(sound[0]), bytearray(sound[1])]
                rng.choice(MUTATIONS)(rng, rng.choice(spoilt), sound[0])
                frames.append((bytes(spoilt[0]), bytes(spoilt[1])))
    return frames


def _giver(values: dict[FieldType, Any]) -> Callable[..., Any]:
    return lambda _entity, field: values.get(field.type, b"")


def told(stage: Stage, request: bytes, answer: bytes) -> tuple[object, ...]:
    """What comes of a request and its answer."""
    session = stage.play("acme").session
    error = ""
    try:
        session.receive_from_client(request)
        if session.to_broker:
            session.receive_from_broker(answer)
    except (SessionEnded, WireError) as ended:
        error = str(ended)
    except AssertionError:
        error = "the broker answers what it was asked"
    sent = b"".join(session.to_broker), b"".join(session.to_client)
    return *sent, session.lookup, session.in_flight, error


def staged() -> Stage:
    stage = Stage()
    stage.topic_ids.learn(OWN_ID, b"__vt_acme_orders")
    stage.topic_ids.learn(FOREIGN_ID, b"__vt_globex_users")
    return stage


@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_both_ways_lead_to_the_same_bytes(api_key: ApiKey, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = frames_of(api_key, random.Random(api_key))
    stage = staged()
    short = [told(stage, *frame) for frame in frames]

    monkeypatch.setattr(client_session.ClientSession, "forward_request", lambda *_: False)
    monkeypatch.setattr(client_session.ClientSession, "forward_response", lambda *_: False)
    stage = staged()
    assert [told(stage, *frame) for frame in frames] == short


def test_what_is_everydays_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Stage().play("acme").session
    heartbeat = messages.build("HeartbeatRequest", {"group_id": "g", "generation_id": 1, "member_id": "m"})
    answer = messages.build("HeartbeatResponse", {})
    session.receive_from_client(request_frame(heartbeat, 4, 1))
    session.receive_from_broker(response_frame(answer, 4, 1))

    def fail(_frame: bytes) -> None:
        raise AssertionError("the long way")

    monkeypatch.setattr(session, "_request", fail)
    monkeypatch.setattr(session, "_response", fail)
    session.receive_from_client(request_frame(heartbeat, 4, 2))
    session.receive_from_broker(response_frame(answer, 4, 2))
    assert session.in_flight == 0

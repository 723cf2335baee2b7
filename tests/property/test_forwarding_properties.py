"""The short ways of a frame and the long one: with or without the engine, both sides get the same bytes."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from bifrost.forwarding.lane import Reason
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.session import client_session
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import SessionEnded
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import WireError
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.framer import Framer
from bifrost.wire.headers import read_request_header
from bifrost.wire.schema import FieldType, request_schema, response_schema
from frame_mutations import MUTATIONS
from support.gateways.sample import sample
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import FakeTransport, framed, receive
from support.stage.look_ups import looked_up_by
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage

MUTATIONS_PER_FRAME = 12
CLIENT_IDS = [None, b"", b"a-client", b"a-client", b"\xff" * 100, b"x" * 32_757, b"x" * 32_758, b"x" * 32_767]
"""With the prefix of ten characters the last two but one are as long as may be and too long."""
OWN, FOREIGN = "orders", "users"
OWN_ID, FOREIGN_ID, UNKNOWN_ID = b"an own topic ID.", b"a foreign one's.", b"an unknown ID..."


def frames_of(api_key: int, rng: random.Random) -> list[tuple[bytes, bytes]]:
    """Requests with answers to them, sound and spoilt, at every version."""
    frames = []
    for version in served_versions(api_key) or ():
        for topic, topic_id in ((OWN, OWN_ID), (FOREIGN, FOREIGN_ID), ("unknown", UNKNOWN_ID)):
            values: dict[FieldType, Any] = {FieldType.STRING: topic, FieldType.UUID: topic_id}
            request = sample(request_schema(api_key).name, version, _giver(values))
            values = {FieldType.STRING: physical_name("acme", topic), FieldType.UUID: topic_id}
            answer = sample(response_schema(api_key).name, version, _giver(values))
            client_id = rng.choice(CLIENT_IDS)
            sound = request_frame(request, version, 1, client_id), response_frame(answer, version, 1)
            frames.append(sound)
            for _ in range(MUTATIONS_PER_FRAME):
                spoilt = [bytearray(sound[0]), bytearray(sound[1])]
                rng.choice(MUTATIONS)(rng, rng.choice(spoilt), sound[0])
                if all(spoilt):  # A frame of no bytes is the framer's to refuse.
                    frames.append((bytes(spoilt[0]), bytes(spoilt[1])))
    return frames


def _giver(values: dict[FieldType, Any]) -> Callable[..., Any]:
    return lambda _entity, field: values.get(field.type, b"")


class Connected:
    """A session between two sides, which knows the way of a request before it comes."""

    def __init__(self, stage: Stage, request: bytes) -> None:
        self.session: ClientSession = stage.play("acme").session
        with suppress(WireError, SessionEnded):
            self.session._ways.of(read_request_header(request), request)

    def from_client(self, frame: bytes) -> None:
        self.session.receive_from_client(frame)

    def from_broker(self, frame: bytes) -> None:
        self.session.receive_from_broker(frame)

    def sent(self) -> tuple[bytes, bytes]:
        return b"".join(self.session.to_broker), b"".join(self.session.to_client)


class Compiled(Connected):
    """The same behind legs, which send on what they can from where it was received."""

    def __init__(self, stage: Stage, request: bytes) -> None:
        super().__init__(stage, request)
        self.is_reading, self.broker, self.client = True, FakeTransport(), FakeTransport()
        there: Any = self
        self.there = FrameRelay(Framer(1 << 20), self.session, there, there, cast(Any, self.broker))
        self.back = FrameRelay(
            Framer(1 << 20), self.session, there, cast(Any, object()), cast(Any, self.client)
        )

    def from_client(self, frame: bytes) -> None:
        receive(self.there, framed(frame))

    def from_broker(self, frame: bytes) -> None:
        receive(self.back, framed(frame))

    def client_frames(self, frames: list[bytes]) -> None:
        for frame in frames:
            self.session.receive_from_client(frame)

    def broker_frames(self, frames: list[bytes], _framer: Framer) -> None:
        for frame in frames:
            self.session.receive_from_broker(frame)

    def flush(self) -> None:
        pass

    def sent(self) -> tuple[bytes, bytes]:
        to_broker, to_client = super().sent()
        return bytes(self.broker.written) + to_broker, bytes(self.client.written) + to_client


class Charged(Compiled):
    """The same with a quota that is known before the request comes."""

    def __init__(self, stage: Stage, request: bytes) -> None:
        super().__init__(stage, request)
        length = int.from_bytes(request[8:10], "big", signed=True)
        client_id = None if length < 0 else request[10 : 10 + length]
        self.session._quota = stage.shared.quotas.quota("acme", "acme", client_id)
        assert self.session._quota.is_on


def told(stage: Stage, request: bytes, answer: bytes, connect: type[Connected]) -> tuple[object, ...]:
    """What comes of a request and its answer."""
    connected = connect(stage, request)
    error = ""
    try:
        connected.from_client(request)
        if connected.sent()[0]:
            connected.from_broker(answer)
    except (SessionEnded, WireError) as ended:
        error = str(ended)
    except AssertionError:
        error = "the broker answers what it was asked"
    return *connected.sent(), looked_up_by(connected.session), connected.session.in_flight, error


def counted(stage: Stage) -> list[tuple[object, ...]]:
    """Return what the metrics would say of all of it."""
    return [
        (tenant, api_key, one.requests, one.bytes_received, one.bytes_sent)
        for tenant, api_key, one in stage.shared.lanes
    ]


def staged(namespaces_client_ids: bool) -> Stage:
    stage = Stage(namespaces_client_ids=namespaces_client_ids)
    stage.topic_ids.learn(OWN_ID, physical_name("acme", "orders").encode())
    stage.topic_ids.learn(FOREIGN_ID, physical_name("globex", "users").encode())
    return stage


def no_request_passes(session: ClientSession, _frame: bytes) -> Reason:
    is_held = session._authentication is not None or session.is_holding
    return Reason.HELD if is_held else Reason.NOT_IN_PLACE


def no_response_passes(session: ClientSession, _frame: bytes) -> Reason:
    return Reason.HELD if session.is_holding_responses else Reason.NOT_IN_PLACE


@pytest.mark.parametrize("is_namespaced", [False, True], ids=["unchanged", "namespaced"])
@pytest.mark.parametrize("api_key", [*SERVED, *REFUSED], ids=lambda key: key.name)
def test_both_ways_lead_to_the_same_bytes(
    api_key: ApiKey, is_namespaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = frames_of(api_key, random.Random(api_key))
    stage = staged(is_namespaced)
    short = [told(stage, *frame, Connected) for frame in frames], counted(stage)
    stage = staged(is_namespaced)
    assert ([told(stage, *frame, Compiled) for frame in frames], counted(stage)) == short

    monkeypatch.setattr(client_session.ClientSession, "forward_request", no_request_passes)
    monkeypatch.setattr(client_session.ClientSession, "forward_response", no_response_passes)
    stage = staged(is_namespaced)
    assert ([told(stage, *frame, Connected) for frame in frames], counted(stage)) == short


@pytest.mark.parametrize("api_key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.HEARTBEAT, ApiKey.METADATA])
def test_a_quota_that_is_not_reached_changes_no_byte(
    api_key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = frames_of(api_key, random.Random(api_key))
    stage = staged(False)
    without = [told(stage, *frame, Connected) for frame in frames], counted(stage)

    def with_quota(stage: Stage) -> Stage:
        given = dict.fromkeys(QuotaKey, 1000000000000.0)
        stage.shared.quotas.give({"acme": {NAMESPACE: given, QuotaEntity(None, DEFAULT): given}})
        return stage

    stage = with_quota(staged(False))
    assert ([told(stage, *frame, Charged) for frame in frames], counted(stage)) == without
    monkeypatch.setattr(client_session.ClientSession, "forward_request", no_request_passes)
    monkeypatch.setattr(client_session.ClientSession, "forward_response", no_response_passes)
    stage = with_quota(staged(False))
    assert ([told(stage, *frame, Connected) for frame in frames], counted(stage)) == without


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

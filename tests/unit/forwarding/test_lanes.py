"""What is counted, and where: by tenant and API, whichever way a message takes."""

import gc
import weakref

import pytest

from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.lane import Awaited
from bifrost.forwarding.lanes import NO_TENANT, Lanes
from bifrost.forwarding.traffic import DURATION_BOUNDS_S, Traffic
from bifrost.tenancy.answer_names import answer_names
from bifrost.tenancy.brokers import BrokerPorts
from bifrost.wire.api_keys import ApiKey
from support.physical_names import physical_name
from support.stage import messages
from support.stage.lanes import SAME_NAMES, names_of, new_lane
from support.stage.look_ups import meet_look_ups
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import PLANS, Stage

OTHER_PORTS = BrokerPorts(advertised_host="other.example.com", start=9093, end=9095, broker_id_base=1)
HEARTBEAT = messages.build("HeartbeatRequest", {"group_id": "g", "generation_id": 1, "member_id": "m"})
HEARTBEAT_ANSWER = messages.build("HeartbeatResponse", {})


def counted(stage: Stage, tenant: str, api_key: int | None) -> tuple[int, int, int]:
    traffic = stage.shared.lanes.traffic(tenant, api_key)
    return traffic.requests, traffic.bytes_received, traffic.bytes_sent


def test_a_lane_is_made_once_and_counts_with_all_versions_of_its_api() -> None:
    lanes = Lanes(PLANS, InFlightLimits(print))
    table = lanes.table("acme", SAME_NAMES)
    one, other = table.lane(ApiKey.FETCH, 12), table.lane(ApiKey.FETCH, 16)

    assert one is not None
    assert other is not None
    assert table.lane(ApiKey.FETCH, 12) is one
    assert one is not other
    assert one.traffic is other.traffic
    assert lanes.new_lane("globex", SAME_NAMES, ApiKey.FETCH, 12).traffic is not one.traffic
    assert table.lane(ApiKey.FETCH, 99) is None
    assert [(tenant, key) for tenant, key, _ in lanes] == [("acme", ApiKey.FETCH), ("globex", ApiKey.FETCH)]


def test_sessions_with_the_same_names_share_lanes(stage: Stage) -> None:
    acme, same = (names_of(stage.namespaces["acme"]) for _ in range(2))
    other_listener = acme._replace(to_virtual=answer_names(stage.namespaces["acme"], OTHER_PORTS))
    table = stage.shared.lanes.table("acme", acme)

    assert stage.shared.lanes.table("acme", same) is table
    for names in (
        other_listener,
        acme._replace(client_id_prefix=b"other."),
        names_of(Stage().namespaces["acme"]),
    ):
        other = stage.shared.lanes.table("acme", names)
        assert other is not table
        one, another = table.lane(ApiKey.FETCH, 12), other.lane(ApiKey.FETCH, 12)
        assert one.traffic is another.traffic
        assert one.load is another.load
        assert (another.to_physical, another.to_virtual, another.client_id_prefix) == names[:3]


def test_a_lane_needs_names() -> None:
    with pytest.raises(TypeError):
        new_lane(ApiKey.FETCH, 12, names=SAME_NAMES._replace(to_physical=None))
    with pytest.raises(TypeError):
        new_lane(ApiKey.FETCH, 12, names=SAME_NAMES._replace(to_virtual=None))


def test_lanes_and_the_namespace_end_with_their_last_session(stage: Stage) -> None:
    lanes, namespace = stage.shared.lanes, Stage().namespaces["acme"]
    table = lanes.table("acme", names_of(namespace))
    lane = table.lane(ApiKey.FETCH, 12)
    lane.traffic.receive(10)
    seen = weakref.ref(namespace)

    del namespace, table, lane
    gc.unfreeze()  # Another test of this process may have frozen the cycles in which the namespace is.
    gc.collect()

    assert seen() is None
    assert counted(stage, "acme", ApiKey.FETCH) == (1, 10, 0)


@pytest.mark.parametrize("times", [1, 3])
def test_forwarded_messages_are_counted(stage: Stage, times: int) -> None:
    session = stage.play("acme").session
    sent = received = 0
    for number in range(times):
        request, answer = request_frame(HEARTBEAT, 4, number), response_frame(HEARTBEAT_ANSWER, 4, number)
        session.receive_from_client(request)
        session.receive_from_broker(answer)
        received += 4 + len(request)
    sent = sum(map(len, session.to_client))

    assert counted(stage, "acme", ApiKey.HEARTBEAT) == (times, received, sent)
    assert sum(stage.shared.lanes.traffic("acme", ApiKey.HEARTBEAT).durations) == times
    assert counted(stage, "globex", ApiKey.HEARTBEAT) == (0, 0, 0)


def test_decoded_messages_are_counted_once_even_if_they_wait_for_a_look_up(stage: Stage) -> None:
    session = stage.play("initech").session
    topic_id = messages.topic_id(physical_name("initech", "x"))
    topic = {"topic_id": topic_id, "name": None}
    request = request_frame(messages.MetadataRequest(topics=[topic]), 12, 5)
    session.receive_from_client(request)
    assert counted(stage, "initech", ApiKey.METADATA) == (0, 0, 0)

    stage.topic_ids.learn(topic_id, physical_name("initech", "x").encode())
    meet_look_ups(session)

    assert counted(stage, "initech", ApiKey.METADATA) == (1, 4 + len(request), 0)


def test_answers_of_the_gateway_s_own_are_counted(stage: Stage) -> None:
    session = stage.play("acme").session
    request = request_frame(messages.ApiVersionsRequest(client_software_name="x"), 0, 9)
    session.receive_from_client(request)

    assert counted(stage, "acme", ApiKey.API_VERSIONS) == (1, 4 + len(request), len(session.to_client[0]))


def test_what_comes_before_authentication_is_of_no_tenant(stage: Stage) -> None:
    stage.play("acme")

    for api_key in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
        requests, received, sent = counted(stage, NO_TENANT, api_key)
        assert (requests, received > 20, sent > 10) == (1, True, True)


def test_an_unknown_api_has_no_counter_of_its_own(stage: Stage) -> None:
    session = stage.session()
    with pytest.raises(Exception, match="before SASL"):
        session.receive_from_client(b"\x7f\xff\0\0\0\0\0\1\xff\xff")

    assert counted(stage, NO_TENANT, None) == (1, 14, 0)


def test_the_time_of_an_answer_falls_into_one_bucket() -> None:
    traffic = Traffic()
    Awaited(1, new_lane(ApiKey.HEARTBEAT, 4, traffic), None).finish(100)

    assert len(traffic.durations) == len(DURATION_BOUNDS_S) + 1
    assert traffic.durations[0] == 1
    assert 0 < traffic.duration_ns < 100_000
    assert traffic.bytes_sent == 100

"""Answers leave in the order of their requests, and requests wait when too many have no answer."""

from bifrost.session.close_reason import CloseReason
from bifrost.session.held_frames import MAX_TRIES
from bifrost.tenancy.topic_ids import AbsentIds
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import fetch, topic_id
from support.stage.playbook import (
    broker_answers,
    client_sends,
    client_sends_frame,
    ends,
    holds,
    learns,
    looks_up,
    to_broker,
    to_client,
)
from support.stage.stage import Stage

API_VERSIONS = messages.ApiVersionsRequest(client_software_name="tests", client_software_version="1")


def list_offsets(topic: str):
    partitions = [{"partition_index": 0, "timestamp": -1}]
    return messages.ListOffsetsRequest(topics=[{"name": topic, "partitions": partitions}])


def listed_offsets(topic: str):
    partitions = [{"partition_index": 0, "offset": 3}]
    return messages.ListOffsetsResponse(topics=[{"name": topic, "partitions": partitions}])


def heartbeat(group_id: str):
    return messages.HeartbeatRequest(group_id=group_id, generation_id=3, member_id="m")


def test_the_gateways_own_answer_waits_for_those_before_it(stage: Stage) -> None:
    versions = stage.versions.response(4)
    assert (
        stage.play()
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(physical_name("acme", "g")))
        >> client_sends(API_VERSIONS)
        >> client_sends(list_offsets("orders"))
        << to_broker(list_offsets(physical_name("acme", "orders")))
        >> client_sends(API_VERSIONS)
        >> client_sends(API_VERSIONS)
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        << to_client(versions)
        >> broker_answers(listed_offsets(physical_name("acme", "orders")))
        << to_client(listed_offsets("orders"))
        << to_client(versions)
        << to_client(versions)
    )


def test_many_requests_are_answered_in_their_order(stage: Stage) -> None:
    book = stage.play()
    for number in range(20):
        (
            book
            >> client_sends(heartbeat(f"g{number}"))
            << to_broker(heartbeat(physical_name("acme", f"g{number}")))
        )
    assert book.session.in_flight == 20

    for number in range(20):
        answer = messages.HeartbeatResponse(throttle_time_ms=number)
        book >> broker_answers(answer) << to_client(answer)

    assert book
    assert book.session.in_flight == 0


# -- limits


def test_reading_stops_above_the_most_requests_in_flight_and_goes_on_with_them() -> None:
    book = Stage(max_in_flight_requests=2).play()
    book >> client_sends(heartbeat("a")) << to_broker(heartbeat(physical_name("acme", "a"))) << holds()

    book >> client_sends(heartbeat("b")) << to_broker(heartbeat(physical_name("acme", "b"))) << holds()

    assert (
        book
        >> client_sends(heartbeat("c"))
        << holds(requests=True)
        >> client_sends(heartbeat("d"))
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        << to_broker(heartbeat(physical_name("acme", "c")))
        << holds(requests=True)
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        << to_broker(heartbeat(physical_name("acme", "d")))
        << holds()
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        << holds()
    )


def test_own_answers_that_wait_count_as_in_flight() -> None:
    stage = Stage(max_in_flight_requests=2)
    book = stage.play() >> client_sends(heartbeat("a")) << to_broker(heartbeat(physical_name("acme", "a")))

    book >> client_sends(API_VERSIONS) << holds()

    assert (
        book
        >> client_sends(API_VERSIONS)
        << holds(requests=True)
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        << to_client(stage.versions.response(4))
        << to_client(stage.versions.response(4))
        << holds()
    )


def test_a_held_request_that_is_refused_ends_the_connection_when_its_turn_comes() -> None:
    book = Stage(max_in_flight_requests=1).play()
    book >> client_sends(heartbeat("a")) << to_broker(heartbeat(physical_name("acme", "a")))
    book >> client_sends_frame(b"\x03\xe7\0\0" + bytes(4) + b"\xff\xff")

    book >> broker_answers(messages.HeartbeatResponse())

    assert book << to_client(messages.HeartbeatResponse()) << ends(CloseReason.UNSUPPORTED, "API key 999")


def test_a_malformed_request_behind_a_look_up_ends_the_connection_in_its_turn(stage: Stage) -> None:
    own = topic_id(physical_name("acme", "orders"))
    book = stage.play() >> client_sends(fetch(own)) << looks_up({own})
    book >> client_sends(messages.WriteTxnMarkersRequest(), 1) << looks_up({own})

    book >> learns({own: physical_name("acme", "orders")})

    assert book << to_broker(fetch(own)) << ends(CloseReason.UNSUPPORTED)


def test_an_answer_whose_ids_are_forgotten_as_they_are_looked_up_ends_the_connection(stage: Stage) -> None:
    asked, physical = (
        messages.OffsetFetchRequest(groups=[{"group_id": name, "topics": None}])
        for name in ("g", physical_name("acme", "g"))
    )
    ids = [number.to_bytes(16, "big") for number in (1, 2)]
    topics = [{"topic_id": one, "partitions": []} for one in ids]
    book = stage.play() >> client_sends(asked, 10) << to_broker(physical)
    book >> broker_answers(
        messages.OffsetFetchResponse(groups=[{"group_id": physical_name("acme", "g"), "topics": topics}])
    )
    book << looks_up(set(ids))

    for _ in range(MAX_TRIES + 1):
        book.said.lookup = frozenset()
        stage.namespaces["acme"]._absent_ids = AbsentIds(1)
        book >> learns({})

    book.said.lookup = frozenset()
    assert book << ends(CloseReason.TOO_MANY_TOPIC_IDS, f"after {MAX_TRIES} look-ups")

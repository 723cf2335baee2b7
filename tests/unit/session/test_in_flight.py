from bifrost.forwarding.lane import Awaited
from bifrost.session.in_flight import InFlight
from bifrost.wire.api_keys import ApiKey
from support.stage.lanes import new_lane


def awaited(correlation_id: int) -> Awaited:
    return Awaited(correlation_id, new_lane(ApiKey.METADATA, 0), None)


def frame(correlation_id: int) -> bytes:
    return correlation_id.to_bytes(4, "big") + b"body"


def test_an_answer_with_nothing_before_it_leaves_at_once() -> None:
    in_flight = InFlight()

    assert in_flight.answer(b"a") == [b"a"]
    assert len(in_flight) == 0
    assert "no request asked for" in str(in_flight.unexpected(frame(1)))


def test_answers_wait_for_the_requests_before_them_only() -> None:
    in_flight = InFlight()
    in_flight.await_broker(awaited(1))
    assert in_flight.answer(b"a") == []
    assert in_flight.answer(b"b") == []
    in_flight.await_broker(awaited(2))
    assert in_flight.answer(b"c") == []
    assert len(in_flight) == 5

    assert in_flight.complete() == [b"a", b"b"]
    assert in_flight.first().correlation_id == 2
    assert in_flight.complete() == [b"c"]

    assert len(in_flight) == 0


def test_requests_are_answered_in_their_order() -> None:
    in_flight = InFlight()
    for number in range(3):
        in_flight.await_broker(awaited(number))

    for number in range(3):
        assert "out of order" in str(in_flight.unexpected(frame(number + 1)))
        assert "no request asked for" in str(in_flight.unexpected(b"\0"))
        assert in_flight.first().correlation_id == number
        assert in_flight.complete() == []

    assert len(in_flight) == 0


def test_an_answer_that_is_done_after_the_end_of_the_connection_completes_nothing() -> None:
    in_flight = InFlight()
    in_flight.await_broker(awaited(1))
    in_flight.abandon()

    assert in_flight.complete() == []

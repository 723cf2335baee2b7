"""Share sessions of a client at a single address: what brokers are asked and when the client is answered."""

import pytest

from bifrost.gateway.routing.fetch_polls import GRACE_S
from bifrost.gateway.routing.share_requests import FULL, MAX_SESSIONS, ShareRequests
from bifrost.routes.session_memory import SessionMemory
from bifrost.routes.shares.share_session import PARTITION_BYTES, SESSION_BYTES
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

from .sharing import (
    FINAL,
    LOCK_MS,
    NODES,
    TOPIC,
    WAIT_MS,
    Router,
    acknowledge,
    codes,
    done,
    fetch,
    found,
    indexes,
)

NAME_BYTES = len("group") + len("member")


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
def shares(router: Router) -> ShareRequests:
    return requests_of(router)


def requests_of(router: Router) -> ShareRequests:
    """Those of one more connection."""
    return ShareRequests(router)  # type: ignore[arg-type]


def test_the_first_leader_with_records_makes_the_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1, 2))

    polls = {node_id: router.asked(node_id) for node_id in NODES}
    assert {node_id: indexes(one) for node_id, one in polls.items()} == {1: [0, 2], 2: [1]}
    shown = [
        (one.share_session_epoch, one.max_wait_ms, one.max_bytes, one.max_records) for one in polls.values()
    ]
    assert shown == [(0, WAIT_MS, 451, 10)] * 2
    router.reply(2, found(1))

    answer = router.take_answer()
    assert (indexes(answer), answer.acquisition_lock_timeout_ms) == ([1], LOCK_MS)


def test_what_another_one_brings_is_the_next_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.reply(1, found(0))
    router.read(shares, fetch(1))

    assert indexes(router.take_answer()) == [0]
    assert not any(router.sent.values()), "no broker is asked for more before the client has it"
    router.read(shares, fetch(2))
    assert [router.asked(node_id).share_session_epoch for node_id in NODES] == [1, 1]


def test_a_poll_that_is_out_serves_the_next_fetch(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.read(shares, fetch(1))

    assert len(router.sent[1]) == 1
    router.reply(1, found(0))
    assert indexes(router.take_answer()) == [0]


def test_acknowledgements_go_to_the_broker_that_gave_the_records(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.read(shares, fetch(1, acknowledged=(1,)))
    router.reply(1, found(0))

    assert router.answers == [], "the result of the acknowledgement is missing"
    request = router.asked(2)
    assert isinstance(request, ShareAcknowledgeRequest)
    assert (request.share_session_epoch, indexes(request)) == (1, [1])
    router.reply(2, done(1, code=ErrorCode.INVALID_RECORD_STATE))
    assert codes(router.take_answer()) == {0: (0, 0), 1: (0, ErrorCode.INVALID_RECORD_STATE)}
    assert (router.asked(2).share_session_epoch, type(router.asked(2))) == (2, ShareFetchRequest)


def test_acknowledgements_alone_are_put_together(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    for node_id in NODES:
        router.reply(node_id, found(node_id - 1))
    router.read(shares, fetch(1))
    router.answers.clear()

    router.read(shares, acknowledge(2, 0, 1))
    router.reply(1, done(0))
    assert router.answers == []
    router.reply(2, done(1))

    assert codes(router.take_answer()) == {0: (0, 0), 1: (0, 0)}


def test_a_session_that_a_broker_has_lost_is_begun_anew(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 2))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, fetch(1))
    router.reply(1, ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))

    assert (router.asked(1).share_session_epoch, indexes(router.asked(1))) == (0, [0, 2])
    router.reply(1, found(2))
    assert indexes(router.take_answer()) == [2]


def test_a_broker_that_keeps_no_session_is_no_endless_loop(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    for _ in range(2):
        router.reply(1, ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))

    assert router.take_answer().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert not router.sent[1]


def test_acknowledgements_in_a_lost_session_are_refused(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, acknowledge(1, 0))
    router.reply(1, ShareAcknowledgeResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))
    router.read(shares, acknowledge(2, 0))

    assert [codes(one) for one in router.answers] == [{0: (ErrorCode.INVALID_RECORD_STATE, 0)}] * 2


def test_other_errors_of_a_broker_are_the_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, ShareFetchResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    assert router.take_answer().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    router.read(shares, fetch(1))
    router.reply(1, found(0))
    router.answers.clear()

    router.read(shares, acknowledge(2, 0))
    router.reply(1, ShareAcknowledgeResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))

    assert router.take_answer().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_partitions_of_a_lost_broker_have_an_error(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1, 2))

    router.reply(1, None)

    stale = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert codes(router.take_answer()) == {0: (stale, 0), 2: (stale, 0)}
    router.read(shares, fetch(1))
    assert len(router.looked_up) == 1, "who leads them now is asked for first"
    assert not router.sent[1]
    for one in router.looked_up:
        one.close()  # type: ignore[attr-defined]


def test_acknowledgements_that_a_lost_broker_had_have_an_error(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, acknowledge(1, 0))
    router.reply(1, None)

    assert codes(router.take_answer()) == {0: (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)}


def test_errors_of_partitions_are_told_at_once(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))

    router.reply(1, found(0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER))

    assert codes(router.take_answer()) == {0: (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)}
    assert router.cluster.routes.unknown_leaders([(TOPIC, 0)]) == [TOPIC]


def test_a_broker_that_does_not_answer_holds_the_client_no_longer(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0, 1))

    router.loop.go_on(WAIT_MS / 1000)
    router.reply(1, found())
    assert router.answers == []
    router.loop.go_on(GRACE_S)

    assert codes(router.take_answer()) == {}
    assert router.loop.planned == []


def test_a_poll_that_ends_early_is_begun_again(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))

    router.loop.go_on(0.2)
    router.reply(1, found())

    assert (router.asked(1).share_session_epoch, router.asked(1).max_wait_ms) == (1, WAIT_MS - 200)


def test_a_fetch_that_does_not_wait_asks_each_broker_once(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1, max_wait_ms=0))

    router.reply(1, found())
    assert router.answers == []
    router.reply(2, found())

    assert codes(router.take_answer()) == {}


def test_brokers_are_asked_one_after_the_other_for_a_number_of_records(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0, 1, share_acquire_mode=1))
    waits = []
    for node_id in (1, 2, 2, 1):
        (asked_node,) = [one for one in NODES if router.sent[one]]
        assert asked_node == node_id
        waits.append(router.asked(node_id).max_wait_ms)
        router.reply(node_id, found())

    assert waits == [0, 0, WAIT_MS // 2, WAIT_MS // 2]
    (node_id,) = [one for one in NODES if router.sent[one]]
    router.reply(node_id, found(node_id - 1))
    assert indexes(router.take_answer()) == [node_id - 1]
    assert not any(router.sent.values())


def test_a_session_ends_at_each_broker(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, fetch(FINAL, acknowledged=(0,)))
    router.reply(2, found(1))  # The poll was out: what it has brought is released with the session.

    assert [(router.asked(one).share_session_epoch, indexes(router.asked(one))) for one in NODES] == [
        (FINAL, [0]),
        (FINAL, []),
    ]
    router.reply(1, done(0))
    router.reply(2, done())
    assert codes(router.take_answer()) == {0: (0, 0)}
    router.read(shares, fetch(1))
    assert router.take_answer().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert router.cluster.routes.share_memory.used == 0


def test_records_of_a_partition_that_was_left_are_given_back(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()

    router.read(shares, fetch(1, forgotten=(0,)))
    router.reply(1, found(0))

    assert codes(router.take_answer()) == {}
    request = router.asked(1)
    assert isinstance(request, ShareAcknowledgeRequest)
    assert [one.acknowledge_types for one in request.topics[0].partitions[0].acknowledgement_batches] == [[2]]


def test_a_session_without_partitions_has_an_empty_answer(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0))

    assert codes(router.take_answer()) == {}
    assert not any(router.sent.values())


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (fetch(1), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (fetch(FINAL), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (acknowledge(1, 0), ErrorCode.SHARE_SESSION_NOT_FOUND),
        (acknowledge(0, 0), ErrorCode.INVALID_SHARE_SESSION_EPOCH),
        (fetch(0, acknowledged=(0,)), ErrorCode.INVALID_REQUEST),
        (fetch(1, acknowledged=(0,), is_renew_ack=True), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_belongs_to_no_session_is_refused(
    router: Router, shares: ShareRequests, message: Message, code: ErrorCode
) -> None:
    router.read(shares, message)

    assert router.take_answer().error_code == code


def test_sessions_of_a_connection_have_a_bound(router: Router, shares: ShareRequests) -> None:
    for number in range(MAX_SESSIONS + 1):
        router.read(shares, fetch(0, member_id=f"member-{number}"))

    refused = [ErrorCode.NONE] * MAX_SESSIONS + [ErrorCode.SHARE_SESSION_LIMIT_REACHED]
    assert [one.error_code for one in router.answers] == refused
    assert router.hits == [FULL]


def test_partitions_of_sessions_have_a_bound(router: Router, shares: ShareRequests) -> None:
    routes = router.cluster.routes
    routes.share_memory = SessionMemory(1 << 20, SESSION_BYTES + 2 * PARTITION_BYTES + NAME_BYTES)
    router.read(shares, fetch(0, 0, 2))
    router.reply(1, found(0))
    assert router.take_answer().error_code == ErrorCode.NONE

    router.read(shares, fetch(1, 4))

    assert router.take_answer().error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert router.hits == [FULL]
    assert router.asked(1).share_session_epoch == FINAL, "the broker releases what was acquired"
    assert routes.share_memory.used == 0


def test_members_of_a_tenant_leave_room_to_those_of_another(router: Router, shares: ShareRequests) -> None:
    routes = router.cluster.routes
    routes.share_memory = SessionMemory(4 * (SESSION_BYTES + 2 * PARTITION_BYTES), 1 << 20)
    router.read(shares, fetch(0, 0))
    router.reply(1, found(0))
    other = requests_of(router)
    router.read(other, fetch(0, 0, member_id="second"))
    router.reply(1, found(0))
    assert [one.error_code for one in router.answers] == [ErrorCode.NONE] * 2

    router.read(other, fetch(0, 0, member_id="third"))
    assert router.answers[-1].error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert router.hits == [FULL]
    router.tenant = "globex"
    router.read(requests_of(router), fetch(0, 0))
    router.reply(1, found(0))

    assert router.answers[-1].error_code == ErrorCode.NONE


def test_the_end_of_a_connection_makes_room(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0))
    assert router.cluster.routes.share_memory.used == SESSION_BYTES + PARTITION_BYTES + NAME_BYTES

    shares.close()

    assert router.cluster.routes.share_memory.used == 0
    assert router.loop.planned == []


@pytest.mark.parametrize("told_ms", [0, 2_000])
def test_records_are_kept_for_as_long_as_they_are_locked(
    router: Router, shares: ShareRequests, told_ms: int
) -> None:
    router.read(shares, fetch(0, 0, 1))
    router.reply(2, found(1))
    router.take_answer()
    answer = found(0)
    answer.acquisition_lock_timeout_ms = told_ms
    router.reply(1, answer)

    router.loop.go_on(1.9)
    router.read(shares, fetch(1))

    assert indexes(router.take_answer()) == [0]
    router.read(shares, fetch(2))
    router.reply(2, found(1))
    router.take_answer()
    router.reply(1, answer)
    router.loop.go_on(LOCK_MS / 1000)
    router.read(shares, fetch(3))
    assert router.answers == [], "a broker gives them to a member again"

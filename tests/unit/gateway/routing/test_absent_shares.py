"""Partitions of share sessions that do not exist: the gateway answers for them, and no broker is asked."""

import asyncio

import pytest

from bifrost.gateway.brokers.cluster_routes import LEADERLESS_MS
from bifrost.gateway.routing.share_requests import ShareRequests
from bifrost.wire.error_codes import ErrorCode

from .sharing import NODES, PARTITIONS, TOPIC, Router, acknowledge, codes, done, fetch, found, indexes

UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
def shares(router: Router) -> ShareRequests:
    return ShareRequests(router)  # type: ignore[arg-type]


def test_no_broker_is_asked_for_what_does_not_exist(router: Router, shares: ShareRequests) -> None:
    absent = range(PARTITIONS, PARTITIONS + 5)

    router.read(shares, fetch(0, *absent))

    assert [len(router.sent[one]) for one in NODES] == [0, 0]
    assert codes(router.take_answer()) == dict.fromkeys(absent, UNKNOWN)
    router.read(shares, fetch(1))
    assert codes(router.take_answer()) == dict.fromkeys(absent, UNKNOWN)


def test_an_answer_has_what_exists_and_what_does_not(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, 0, PARTITIONS))
    assert indexes(router.asked(1)) == [0]

    router.reply(1, found(0))

    assert codes(router.take_answer()) == {0: (0, 0), PARTITIONS: UNKNOWN}


def test_a_partition_that_was_made_meanwhile_is_asked_for(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, PARTITIONS))
    assert codes(router.take_answer()) == {PARTITIONS: UNKNOWN}

    router.learn(PARTITIONS + 1)
    router.read(shares, fetch(1))

    assert indexes(router.asked(1)) == [PARTITIONS]


def test_what_does_not_exist_is_looked_up_again_after_a_while(router: Router, shares: ShareRequests) -> None:
    router.read(shares, fetch(0, PARTITIONS))
    router.take_answer()
    router.read(shares, fetch(1))
    assert router.looked_up == []

    router.loop.now_s += LEADERLESS_MS / 1000 + 0.1
    router.take_answer()
    router.read(shares, fetch(2))

    assert router.answers == []
    [look_up] = router.looked_up
    look_up.close()  # type: ignore[attr-defined]


def test_acknowledgements_of_what_does_not_exist_go_to_no_broker(
    router: Router, shares: ShareRequests
) -> None:
    router.read(shares, fetch(0, 0))
    router.reply(1, found(0))
    router.take_answer()

    router.read(shares, acknowledge(1, 0, PARTITIONS))
    assert indexes(router.asked(1)) == [0]
    router.reply(1, done(0))

    assert codes(router.take_answer()) == {0: (0, 0), PARTITIONS: UNKNOWN}


def test_topics_of_acknowledgements_are_looked_up_where_no_broker_has_a_session(
    router: Router, shares: ShareRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member may begin its session with nothing, and acknowledge records of a topic that there is not."""

    async def find_none(topics: list[bytes], tenant: str, *, by_id: bool) -> None:
        assert (topics, tenant, by_id) == ([TOPIC], "acme", True)
        router.learn(0)

    monkeypatch.setattr(router.cluster.routes, "look_up_leaders", find_none)
    router.read(shares, fetch(0))
    router.take_answer()
    router.cluster.routes.forget_leaders([TOPIC], by_id=True)

    router.read(shares, acknowledge(1, 0))

    assert router.answers == []
    [look_up] = router.looked_up
    asyncio.run(look_up)  # type: ignore[arg-type]
    assert codes(router.take_answer()) == {0: (ErrorCode.UNKNOWN_TOPIC_ID, 0)}

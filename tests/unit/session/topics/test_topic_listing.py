"""Metadata of all topics: the names first, by pages, then Metadata of those."""

import pytest

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.session.close_reason import CloseReason
from bifrost.session.topics import topic_listing
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.topic_pages import FIRST_PAGE, LISTED_LIMIT, PASSES
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.hasty_turns import HastyTurns, pausing_everywhere
from support.stage.messages import metadata, metadata_of
from support.stage.playbook import (
    Playbook,
    broker_answers,
    broker_sends_frame,
    client_sends,
    ends,
    holds,
    to_broker,
    to_client,
)
from support.stage.stage import WITHOUT_TOPIC_PAGES, Stage

PREFIX = prefix_of("initech")
LISTED = range(4, 14)
"""Versions of Metadata that can ask without creating what they name."""
ALL = messages.MetadataRequest(topics=None)


def page_from(first: str, size: int = FIRST_PAGE):
    return messages.DescribeTopicPartitionsRequest(
        response_partition_limit=size, cursor={"topic_name": first, "partition_index": 0}
    )


def page(*topics: str, cursor: str | None = None, partition: int = 0):
    following = None if cursor is None else {"topic_name": cursor, "partition_index": partition}
    return messages.DescribeTopicPartitionsResponse(
        topics=[{"name": name, "partitions": [{"partition_index": 0}]} for name in topics],
        next_cursor=following,
    )


def named(*topics: str, **fields: object):
    return metadata(*(PREFIX + name for name in topics), allow_auto_topic_creation=False, **fields)


def heartbeat(group_id: str):
    return messages.HeartbeatRequest(group_id=group_id, generation_id=1, member_id="m")


def asks(stage: Stage, version: int = 12) -> Playbook:
    return stage.play("initech") >> client_sends(ALL, version) << to_broker(page_from(PREFIX))


@pytest.mark.parametrize("version", LISTED)
def test_all_topics_are_those_that_were_listed(stage: Stage, version: int) -> None:
    assert (
        asks(stage, version)
        >> broker_answers(
            page(PREFIX + "a", PREFIX + "b", physical_name("other", "x"), cursor=physical_name("other", "y"))
        )
        << to_broker(named("a", "b"))
        >> broker_answers(metadata_of(PREFIX + "a", PREFIX + "b"))
        << to_client(metadata_of("a", "b", tenant="initech"))
    )


@pytest.mark.parametrize("version", range(1, 4))
def test_a_request_that_would_create_what_it_names_asks_for_all(stage: Stage, version: int) -> None:
    assert stage.play("initech") >> client_sends(ALL, version) << to_broker(ALL)


def test_a_broker_without_such_a_list_is_asked_for_all() -> None:
    assert Stage(versions=WITHOUT_TOPIC_PAGES).play("initech") >> client_sends(ALL, 12) << to_broker(ALL)


def test_what_else_the_client_wants_to_know_is_asked_along(stage: Stage) -> None:
    request = messages.MetadataRequest(topics=None, include_topic_authorized_operations=True)

    assert (
        stage.play("initech")
        >> client_sends(request, 12)
        << to_broker(page_from(PREFIX))
        >> broker_answers(page(PREFIX + "a"))
        << to_broker(named("a", include_topic_authorized_operations=True))
    )


def test_the_list_goes_on_where_the_page_ends(stage: Stage) -> None:
    book = asks(stage) >> broker_answers(page(PREFIX + "a", PREFIX + "b", cursor=PREFIX + "c"))
    book << to_broker(page_from(PREFIX + "c", 2 * FIRST_PAGE))
    # Within a topic: its name is known, whatever partitions it has besides.
    book >> broker_answers(page(PREFIX + "c", PREFIX + "d", cursor=PREFIX + "d", partition=700))
    book << to_broker(page_from(PREFIX + "d-", 4 * FIRST_PAGE))

    assert book >> broker_answers(page(PREFIX + "e")) << to_broker(named("a", "b", "c", "d", "e"))


@pytest.mark.parametrize("cursor", [None, physical_name("other", "y")])
def test_the_list_ends_where_others_begin(stage: Stage, cursor: str | None) -> None:
    assert asks(stage) >> broker_answers(page(PREFIX + "a", cursor=cursor)) << to_broker(named("a"))


def test_a_tenant_without_topics_has_none(stage: Stage) -> None:
    assert (
        asks(stage)
        >> broker_answers(page(physical_name("other", "x")))
        << to_broker(named())
        >> broker_answers(metadata_of())
        << to_client(metadata_of())
    )


def test_what_is_deleted_in_between_is_left_out(stage: Stage) -> None:
    gone = {"name": PREFIX + "b", "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    answer = metadata_of(PREFIX + "a")
    answer.topics += messages.MetadataResponse(topics=[gone]).topics

    assert (
        asks(stage)
        >> broker_answers(page(PREFIX + "a", PREFIX + "b"))
        << to_broker(named("a", "b"))
        >> broker_answers(answer)
        << to_client(metadata_of("a", tenant="initech"))
    )


def test_isolation_does_not_rest_on_the_list(stage: Stage) -> None:
    assert (
        asks(stage)
        >> broker_answers(page(PREFIX + "a"))
        << to_broker(named("a"))
        >> broker_answers(metadata_of(PREFIX + "a", physical_name("other", "x")))
        << to_client(metadata_of("a", tenant="initech"))
    )


# -- what cannot be listed


def falls_back(book: Playbook) -> Playbook:
    return (
        book
        << to_broker(ALL)
        >> broker_answers(metadata_of(PREFIX + "a", physical_name("other", "x")))
        << to_client(metadata_of("a", tenant="initech"))
    )


def test_a_page_without_topics_may_be_a_failure_so_all_are_asked_for(stage: Stage) -> None:
    book = asks(stage)

    assert falls_back(book >> broker_answers(page()))
    assert not stage.shared.lanes.in_flight_limits.hits
    for _ in range(PASSES):
        book >> client_sends(ALL, 12)
        assert falls_back(book)
    assert book >> client_sends(ALL, 12) << to_broker(page_from(PREFIX))


def test_a_later_page_without_topics_is_no_end_of_the_list(stage: Stage) -> None:
    book = asks(stage) >> broker_answers(page(PREFIX + "a", cursor=PREFIX + "b"))
    book << to_broker(page_from(PREFIX + "b", 2 * FIRST_PAGE))

    assert falls_back(book >> broker_answers(page()))


def test_more_topics_than_are_listed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_listing, "MAX_TOPICS", 2)

    assert asks(stage) >> broker_answers(page(PREFIX + "a", PREFIX + "b")) << to_broker(named("a", "b"))
    assert not stage.shared.lanes.in_flight_limits.hits
    assert falls_back(asks(stage) >> broker_answers(page(PREFIX + "a", PREFIX + "b", PREFIX + "c")))
    assert stage.shared.lanes.in_flight_limits.hits == {(LISTED_LIMIT, "initech"): 1}


def test_more_pages_than_are_listed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_listing, "MAX_PAGES", 2)
    book = asks(stage) >> broker_answers(page(PREFIX + "a", cursor=PREFIX + "b"))
    book << to_broker(page_from(PREFIX + "b", 2 * FIRST_PAGE))

    assert falls_back(book >> broker_answers(page(PREFIX + "b", cursor=PREFIX + "c")))
    assert stage.shared.lanes.in_flight_limits.hits == {(LISTED_LIMIT, "initech"): 1}


def test_a_page_that_cannot_be_read_ends_the_connection(stage: Stage) -> None:
    book = asks(stage)
    correlation_id = max(book.asked_by_client).to_bytes(4, "big")

    assert book >> broker_sends_frame(correlation_id + b"\0\xff") << ends(CloseReason.BROKER_MISBEHAVED)


# -- what comes before and behind


def test_answers_keep_the_order_of_the_requests(stage: Stage) -> None:
    book = stage.play("initech") >> client_sends(heartbeat("g")) << to_broker(heartbeat(PREFIX + "g"))
    book >> client_sends(ALL, 12) << to_broker(page_from(PREFIX))
    book >> client_sends(messages.InitProducerIdRequest(transactional_id=None)) << holds(requests=True)
    book >> broker_answers(messages.HeartbeatResponse()) << to_client(messages.HeartbeatResponse())
    book >> broker_answers(page(PREFIX + "a")) << to_broker(named("a"))
    book << to_broker(messages.InitProducerIdRequest(transactional_id=None))
    book >> broker_answers(metadata_of(PREFIX + "a")) << to_client(metadata_of("a", tenant="initech"))

    answer = messages.InitProducerIdResponse(producer_id=7, producer_epoch=0)
    assert book >> broker_answers(answer) << to_client(answer)


def test_a_session_that_is_stopped_asks_for_nothing_more(stage: Stage) -> None:
    book = asks(stage)
    book.session.stop()

    assert not book.session.has_finished
    assert book >> broker_answers(page(PREFIX + "a"))
    assert book.session.has_finished


def test_what_the_gateway_asks_for_itself_is_not_counted_as_the_clients(stage: Stage) -> None:
    book = asks(stage)
    assert stage.shared.lanes.in_flight_limits.load("initech").in_flight == 1
    before = {api: traffic.requests for _, api, traffic in stage.shared.lanes}

    book >> broker_answers(page(PREFIX + "a")) << to_broker(named("a"))
    book >> broker_answers(metadata_of(PREFIX + "a")) << to_client(metadata_of("a", tenant="initech"))

    after = {api: traffic.requests for _, api, traffic in stage.shared.lanes}
    assert {api: after[api] - before.get(api, 0) for api in after if after[api] != before.get(api, 0)} == {
        3: 1
    }
    assert stage.shared.lanes.in_flight_limits.load("initech").in_flight == 0


@pytest.mark.parametrize("count", [1, 300])
def test_it_may_pause_wherever_it_can(stage: Stage, count: int) -> None:
    names = [f"topic-{number}" for number in range(count)]
    stage.shared.turns = HastyTurns()

    with pausing_everywhere():
        book = (
            asks(stage)
            >> broker_answers(page(*(PREFIX + name for name in names)))
            << to_broker(named(*names))
        )

        assert (
            book
            >> broker_answers(metadata_of(*(PREFIX + name for name in names)))
            << to_client(metadata_of(*names, tenant="initech"))
        )


GIVEN, AWAY = StateKey(KIND, "globex/given"), StateKey(KIND, "initech/b")


def moved(stage: Stage) -> None:
    """Give initech a topic of globex, and take its own `b` away."""
    for key, owner in ((GIVEN, "initech/x"), (AWAY, "globex/b2")):
        body = {"owner": owner, "shares": {}}
        stage.aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))


def described(*topics: str, cursor: tuple[str, int] | None = None):
    place = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    return messages.DescribeTopicPartitionsRequest(
        topics=[{"name": name} for name in topics], response_partition_limit=1, cursor=place
    )


GLOBEX = physical_name("globex", "given")


def test_pages_of_partitions_have_the_moved_topics_in_the_broker_s_order(stage: Stage) -> None:
    moved(stage)
    book = stage.play("initech") >> client_sends(described()) << to_broker(page_from(PREFIX))

    assert (
        book
        >> broker_answers(page(PREFIX + "a", PREFIX + "b", PREFIX + "c"))
        << to_broker(described(GLOBEX, PREFIX + "a", PREFIX + "c"))
        >> broker_answers(page(GLOBEX, cursor=PREFIX + "a"))
        << to_client(page("x", cursor="a"))
    )


@pytest.mark.parametrize(
    ("cursor", "asked", "rest"),
    [("a", PREFIX + "a", ["a", "c"]), ("x", GLOBEX, ["x", "a", "c"]), ("bb", None, ["c"])],
)
def test_a_page_of_partitions_begins_at_its_cursor_if_that_topic_is_there(
    stage: Stage, cursor: str, asked: str | None, rest: list[str]
) -> None:
    moved(stage)
    book = (
        stage.play("initech") >> client_sends(described(cursor=(cursor, 3))) << to_broker(page_from(PREFIX))
    )
    wanted = [GLOBEX if name == "x" else PREFIX + name for name in rest]

    assert (
        book
        >> broker_answers(page(PREFIX + "a", PREFIX + "b", PREFIX + "c"))
        << to_broker(described(*wanted, cursor=None if asked is None else (asked, 3)))
    )


def test_behind_the_last_topic_a_page_of_partitions_is_the_broker_s_own(stage: Stage) -> None:
    moved(stage)
    book = stage.play("initech") >> client_sends(described(cursor=("z", 0))) << to_broker(page_from(PREFIX))
    book >> broker_answers(page(PREFIX + "a")) << to_broker(described(cursor=(PREFIX + "z", 0)))

    assert book >> broker_answers(page(physical_name("zeta", "y"))) << to_client(page())


def test_pages_of_partitions_need_no_list_without_moved_topics(stage: Stage) -> None:
    assert (
        stage.play("initech") >> client_sends(described()) << to_broker(described(cursor=(PREFIX + "-", 0)))
    )


def test_pages_and_the_names_that_they_find_are_charged_to_the_brokers_time(stage: Stage) -> None:
    load = stage.shared.lanes.in_flight_limits.load("initech")
    before_ns = load.broker_left_ns

    book = asks(stage)
    price_ns = broker_cost_ns(ApiKey.METADATA)
    assert before_ns - load.broker_left_ns == price_ns + FIRST_PAGE * ITEM_NS
    book >> broker_answers(page(PREFIX + "a", PREFIX + "b", cursor=PREFIX + "c"))
    book << to_broker(page_from(PREFIX + "c", 2 * FIRST_PAGE))
    assert before_ns - load.broker_left_ns == 2 * price_ns + 3 * FIRST_PAGE * ITEM_NS

    book >> broker_answers(page(PREFIX + "c")) << to_broker(named("a", "b", "c"))
    assert before_ns - load.broker_left_ns == 3 * price_ns + (3 * FIRST_PAGE + 3) * ITEM_NS

"""Topic IDs in requests and answers: own, foreign, absent, and those of which the cluster must be asked first."""

import pytest

from bifrost.filters.steps import TopicIds
from bifrost.session.close_reason import CloseReason
from bifrost.session.held_frames import MAX_TRIES
from bifrost.tenancy.topic_ids import ABSENT_FOR_MS, FEW_IDS, AbsentIds
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import fetch, fetched, metadata, metadata_of, produce_by_id, produced, topic_id
from support.stage.playbook import (
    Playbook,
    broker_answers,
    client_sends,
    ends,
    holds,
    learns,
    looks_up,
    no_answer,
    to_broker,
    to_client,
)
from support.stage.stage import WITHOUT_TOPIC_PAGES, Stage

GROUP, ORDERS = physical_name("acme", "g"), physical_name("acme", "orders")
THEIRS = physical_name("globex", "orders")
OWN, FOREIGN, ABSENT = topic_id(ORDERS), topic_id(THEIRS), topic_id("absent")
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID


def heartbeat(group_id: str):
    return messages.HeartbeatRequest(group_id=group_id, member_id="m")


def offsets_of_all_topics(group_id: str):
    return messages.OffsetFetchRequest(groups=[{"group_id": group_id, "topics": None}])


def offsets(group_id: str, *topic_ids: bytes):
    topics = [
        {"topic_id": one, "partitions": [{"partition_index": 0, "committed_offset": 7}]} for one in topic_ids
    ]
    return messages.OffsetFetchResponse(groups=[{"group_id": group_id, "topics": topics}])


def test_an_own_id_passes_in_place(stage: Stage, decoded: list[str]) -> None:
    own = stage.topic(ORDERS)
    book = stage.play()
    decoded.clear()

    book >> client_sends(fetch(own)) << to_broker(fetch(own)) >> broker_answers(fetched(own))

    assert book << to_client(fetched(own))
    assert decoded == []


def test_a_foreign_id_reaches_the_broker_as_one_that_does_not_exist(stage: Stage) -> None:
    foreign = stage.topic(THEIRS)
    masked = stage.masked(foreign)
    assert masked != foreign
    assert (
        stage.play("acme")
        >> client_sends(fetch(foreign))
        << to_broker(fetch(masked))
        >> broker_answers(fetched(masked, error_code=UNKNOWN_ID, records=b""))
        << to_client(fetched(foreign, error_code=UNKNOWN_ID, records=b""))
    )


@pytest.mark.parametrize("name", ["orders", "__consumer_offsets", physical_name("acme", "users"), GROUP[:8]])
def test_what_is_not_in_the_namespace_is_foreign_by_its_id_too(stage: Stage, name: str) -> None:
    foreign = stage.topic(name)

    book = stage.play("acme") >> client_sends(fetch(foreign))

    assert book << to_broker(fetch(stage.masked(foreign)))


def test_the_zero_id_is_left_to_the_broker(stage: Stage) -> None:
    zero = bytes(16)
    assert (
        stage.play()
        >> client_sends(fetch(zero))
        << to_broker(fetch(zero))
        >> broker_answers(fetched(zero, error_code=UNKNOWN_ID, records=b""))
        << to_client(fetched(zero, error_code=UNKNOWN_ID, records=b""))
    )


def test_an_id_that_is_new_is_looked_up_and_found_to_be_own(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(fetch(OWN))
        << looks_up({OWN})
        << holds(requests=True)
        >> learns({OWN: ORDERS})
        << to_broker(fetch(OWN))
        << holds()
        >> broker_answers(fetched(OWN))
        << to_client(fetched(OWN))
    )


def test_foreign_and_absent_are_answered_the_same_in_every_byte(stage: Stage) -> None:
    answers = []
    for one, owner in ((FOREIGN, THEIRS), (ABSENT, None)):
        masked = stage.masked(one)
        book = (
            stage.play("acme")
            >> client_sends(fetch(one))
            << looks_up({one})
            >> learns({one: owner})
            << to_broker(fetch(masked))
            >> broker_answers(fetched(masked, error_code=UNKNOWN_ID, records=b""))
        )
        answers.append(book.said.to_client.popleft())

    assert answers[0].replace(FOREIGN, ABSENT) == answers[1]


def test_a_foreign_id_that_the_gateway_knows_waits_as_long_as_one_that_no_topic_has(stage: Stage) -> None:
    # Or the time of the answer would tell that it exists.
    stage.topic_ids.learn(FOREIGN, THEIRS.encode())
    book = stage.play("acme") >> client_sends(fetch(FOREIGN)) << looks_up({FOREIGN})

    book >> learns({}) << to_broker(fetch(stage.masked(FOREIGN)))

    assert book >> client_sends(fetch(FOREIGN)) << to_broker(fetch(stage.masked(FOREIGN)))
    stage.now_ms += ABSENT_FOR_MS
    assert book >> client_sends(fetch(FOREIGN)) << looks_up({FOREIGN})


def test_all_ids_of_a_request_are_looked_up_at_once(stage: Stage) -> None:
    known = stage.topic(physical_name("acme", "billing"))
    masked, absent = stage.masked(FOREIGN), stage.masked(ABSENT)
    forgotten = {"topic_id": ABSENT, "partitions": [0]}
    assert (
        stage.play()
        >> client_sends(fetch(OWN, known, FOREIGN, forgotten_topics_data=[forgotten]))
        << looks_up({OWN, FOREIGN, ABSENT})
        >> learns({OWN: ORDERS, FOREIGN: THEIRS, ABSENT: None})
        << to_broker(
            fetch(OWN, known, masked, forgotten_topics_data=[{"topic_id": absent, "partitions": [0]}])
        )
    )


def test_requests_behind_a_look_up_wait_and_keep_their_order(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat("a"))
        << to_broker(heartbeat(physical_name("acme", "a")))
        >> client_sends(fetch(OWN))
        << looks_up({OWN})
        >> client_sends(heartbeat("b"))
        << looks_up({OWN})
        >> client_sends(fetch(FOREIGN))
        << looks_up({OWN})
        >> client_sends(heartbeat("c"))
        << looks_up({OWN})
        >> broker_answers(messages.HeartbeatResponse(throttle_time_ms=1))
        << to_client(messages.HeartbeatResponse(throttle_time_ms=1))
        << looks_up({OWN})
        >> learns({OWN: ORDERS})
        << to_broker(fetch(OWN))
        << to_broker(heartbeat(physical_name("acme", "b")))
        << looks_up({FOREIGN})
        << holds(requests=True)
        >> learns({FOREIGN: THEIRS})
        << to_broker(fetch(stage.masked(FOREIGN)))
        << to_broker(heartbeat(physical_name("acme", "c")))
        << holds()
    )


def test_a_look_up_for_one_session_is_not_anothers(stage: Stage) -> None:
    first, second = stage.play(), stage.play()
    first >> client_sends(fetch(OWN)) << looks_up({OWN})

    second >> client_sends(heartbeat("g")) << to_broker(heartbeat(GROUP)) << holds()

    assert second
    assert first >> learns({OWN: ORDERS}) << to_broker(fetch(OWN))


def test_an_absent_id_is_not_looked_up_again_for_a_while(stage: Stage) -> None:
    masked = stage.masked(ABSENT)
    book = stage.play() >> client_sends(fetch(ABSENT)) << looks_up({ABSENT})
    book >> learns({ABSENT: None}) << to_broker(fetch(masked))
    stage.now_ms += ABSENT_FOR_MS - 1

    book >> client_sends(fetch(ABSENT)) << to_broker(fetch(masked))

    stage.now_ms += 1
    assert book >> client_sends(fetch(ABSENT)) << looks_up({ABSENT})


def test_an_id_that_was_absent_is_used_as_soon_as_it_is_known(stage: Stage) -> None:
    book = stage.play() >> client_sends(fetch(OWN)) << looks_up({OWN})
    book >> learns({OWN: None}) << to_broker(fetch(stage.masked(OWN)))
    stage.topic_ids.learn(OWN, ORDERS.encode())

    book >> client_sends(fetch(OWN))

    assert book << to_broker(fetch(OWN))


def test_an_answer_about_an_id_that_was_absent_when_asked_is_understood_afterwards(stage: Stage) -> None:
    masked = stage.masked(OWN)
    book = stage.play() >> client_sends(fetch(OWN)) << looks_up({OWN})
    book >> learns({OWN: None}) << to_broker(fetch(masked))
    stage.topic_ids.learn(OWN, ORDERS.encode())
    stage.now_ms += 10 * ABSENT_FOR_MS

    book >> broker_answers(fetched(masked, error_code=UNKNOWN_ID, records=b""))

    assert book << to_client(fetched(OWN, error_code=UNKNOWN_ID, records=b""))


def test_an_answer_that_outlives_the_memory_of_absence_is_understood(stage: Stage) -> None:
    masked = stage.masked(ABSENT)
    book = stage.play() >> client_sends(fetch(ABSENT)) << looks_up({ABSENT})
    book >> learns({ABSENT: None}) << to_broker(fetch(masked))
    stage.now_ms += ABSENT_FOR_MS

    book >> broker_answers(fetched(masked, error_code=UNKNOWN_ID, records=b""))

    assert book << to_client(fetched(ABSENT, error_code=UNKNOWN_ID, records=b""))


def test_an_id_in_an_answer_that_the_cluster_does_not_know_is_left_out(stage: Stage) -> None:
    own = stage.topic(ORDERS)
    assert (
        stage.play()
        >> client_sends(offsets_of_all_topics("g"), 10)
        << to_broker(offsets_of_all_topics(GROUP))
        >> broker_answers(offsets(GROUP, ABSENT, own))
        << looks_up({ABSENT})
        >> learns({ABSENT: None})
        << to_client(offsets("g", own))
    )


def test_what_stands_for_a_foreign_id_means_nothing_to_another_tenant(stage: Stage) -> None:
    foreign = stage.topic(physical_name("globex", "users"))
    masked = stage.masked(foreign, "acme")

    book = stage.play("initech") >> client_sends(fetch(masked)) << looks_up({masked})

    # A mask that leaks is an unknown ID like any other, to its own tenant too.
    assert book >> learns({masked: None}) << to_broker(fetch(stage.masked(masked, "initech")))
    book = stage.play("acme") >> client_sends(fetch(masked)) << looks_up({masked})
    assert book >> learns({masked: None}) << to_broker(fetch(stage.masked(masked, "acme")))


def test_many_unknown_ids_are_looked_up_as_one_more_than_a_few(stage: Stage) -> None:
    ids = [number.to_bytes(16, "big") for number in range(1, 1001)]

    book = stage.play() >> client_sends(fetch(*ids)) << looks_up(set(ids[: FEW_IDS + 1]))

    assert book << holds(requests=True)


def test_many_unknown_ids_are_absent_at_once_when_the_topics_were_just_listed(stage: Stage) -> None:
    own = stage.topic(ORDERS)
    ids = [number.to_bytes(16, "big") for number in range(1, 101)]
    book = stage.play() >> client_sends(fetch(own, *ids)) << looks_up(set(ids[: FEW_IDS + 1]))
    stage.namespaces["acme"].topics_were_listed()
    masks = [stage.masked(one) for one in ids]

    book >> learns({}) << to_broker(fetch(own, *masks)) << holds()

    others = [number.to_bytes(16, "big") for number in range(201, 301)]
    masks = [stage.masked(one) for one in others]
    assert book >> client_sends(fetch(*others)) << to_broker(fetch(*masks))


def test_a_few_ids_are_looked_up_even_when_the_topics_were_just_listed(stage: Stage) -> None:
    # Another gateway may have created the topic a moment ago.
    stage.namespaces["acme"].topics_were_listed()

    assert stage.play() >> client_sends(fetch(OWN)) << looks_up({OWN})


def test_many_unknown_ids_in_an_answer_are_left_out_once_the_topics_were_listed(stage: Stage) -> None:
    ids = [number.to_bytes(16, "big") for number in range(1, 101)]
    book = stage.play() >> client_sends(offsets_of_all_topics("g"), 10)
    book << to_broker(offsets_of_all_topics(GROUP))
    book >> broker_answers(offsets(GROUP, *ids, OWN)) << looks_up(set(ids[: FEW_IDS + 1]))
    stage.namespaces["acme"].topics_were_listed()

    book >> learns({OWN: ORDERS})

    assert book << to_client(offsets("g", OWN))


def test_a_message_whose_ids_are_forgotten_as_they_are_looked_up_ends_the_connection(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    ids = {number.to_bytes(16, "big") for number in range(1, MAX_TRIES + 3)}
    book = stage.play() >> client_sends(fetch(*sorted(ids))) << looks_up(ids)
    for _ in range(MAX_TRIES):
        namespace._absent_ids = AbsentIds(1)
        book >> learns({})
        assert len(book.said.lookup) == len(ids) - 1
        book.said.lookup = frozenset()

    namespace._absent_ids = AbsentIds(1)
    book >> learns({})

    assert book.said.lookup
    book.said.lookup = frozenset()
    assert book << ends(CloseReason.TOO_MANY_TOPIC_IDS, f"after {MAX_TRIES} look-ups")


def test_an_answer_with_unknown_ids_waits_with_those_behind_it_and_requests_go_on(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(offsets_of_all_topics("g"), 10)
        << to_broker(offsets_of_all_topics(GROUP))
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(GROUP))
        >> broker_answers(offsets(GROUP, OWN, FOREIGN))
        << looks_up({OWN, FOREIGN})
        << holds(responses=True)
        >> broker_answers(messages.HeartbeatResponse())
        << looks_up({OWN, FOREIGN})
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(GROUP))
        << looks_up({OWN, FOREIGN})
        >> learns({OWN: ORDERS, FOREIGN: THEIRS})
        << to_client(offsets("g", OWN))
        << to_client(messages.HeartbeatResponse())
        << holds()
    )


def test_a_request_and_an_answer_can_both_wait(stage: Stage) -> None:
    other = topic_id(physical_name("acme", "billing"))
    assert (
        stage.play()
        >> client_sends(offsets_of_all_topics("g"), 10)
        << to_broker(offsets_of_all_topics(GROUP))
        >> client_sends(fetch(other))
        << looks_up({other})
        >> broker_answers(offsets(GROUP, OWN))
        << looks_up({OWN, other})
        >> learns({OWN: ORDERS, other: physical_name("acme", "billing")})
        << to_client(offsets("g", OWN))
        << to_broker(fetch(other))
    )


def test_a_foreign_id_in_an_answer_is_left_out(stage: Stage) -> None:
    own, foreign = stage.topic(ORDERS), stage.topic(THEIRS)
    assert (
        stage.play()
        >> client_sends(offsets_of_all_topics("g"), 10)
        << to_broker(offsets_of_all_topics(GROUP))
        >> broker_answers(offsets(GROUP, foreign, own))
        << to_client(offsets("g", own))
    )


def test_a_produce_without_acks_waits_for_a_look_up_too(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(produce_by_id(OWN, acks=0), 13)
        << looks_up({OWN})
        >> learns({OWN: ORDERS})
        << to_broker(produce_by_id(OWN, acks=0))
        << no_answer()
    )


def test_a_foreign_id_in_a_produce_is_masked_both_ways(stage: Stage) -> None:
    foreign = stage.topic(THEIRS)
    masked = stage.masked(foreign)
    assert (
        stage.play()
        >> client_sends(produce_by_id(foreign), 13)
        << to_broker(produce_by_id(masked))
        >> broker_answers(produced(masked, error_code=UNKNOWN_ID))
        << to_client(produced(foreign, error_code=UNKNOWN_ID))
    )


def test_metadata_teaches_the_ids_of_own_topics(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("orders")) << to_broker(metadata(ORDERS))
    book >> broker_answers(metadata_of(ORDERS)) << to_client(metadata_of("orders", tenant="acme"))

    book >> client_sends(fetch(OWN))

    assert book << to_broker(fetch(OWN))


def test_foreign_topics_in_metadata_teach_nothing() -> None:
    stage = Stage(versions=WITHOUT_TOPIC_PAGES)
    book = stage.play("initech") >> client_sends(messages.MetadataRequest(topics=None))
    book << to_broker(messages.MetadataRequest(topics=None))

    book >> broker_answers(metadata_of(THEIRS, physical_name("initech", "orders"), "secret"))

    assert book << to_client(metadata_of("orders", tenant="initech"))
    assert stage.topic_ids.name_of(FOREIGN) is None


@pytest.mark.parametrize("version", [12, 13])
def test_metadata_by_a_foreign_id_is_asked_masked(stage: Stage, version: int) -> None:
    foreign = stage.topic(THEIRS)
    masked = stage.masked(foreign)
    ask, answer = (
        lambda one: messages.MetadataRequest(topics=[{"topic_id": one, "name": None}]),
        lambda one: messages.MetadataResponse(
            topics=[{"topic_id": one, "name": None, "error_code": UNKNOWN_ID}]
        ),
    )
    assert (
        stage.play()
        >> client_sends(ask(foreign), version)
        << to_broker(ask(masked))
        >> broker_answers(answer(masked))
        << to_client(answer(foreign))
    )


def test_another_tenants_own_id_stays_foreign_however_it_is_asked_for(stage: Stage) -> None:
    globex = stage.topic(THEIRS)
    book: Playbook = stage.play("globex") >> client_sends(fetch(globex)) << to_broker(fetch(globex))

    assert book
    assert stage.play("acme") >> client_sends(fetch(globex)) << to_broker(fetch(stage.masked(globex)))
    assert stage.play("globex") >> client_sends(fetch(globex)) << to_broker(fetch(globex))


def test_an_answer_whose_ids_come_while_others_are_looked_up_waits_for_its_own(stage: Stage) -> None:
    other = topic_id(physical_name("acme", "billing"))
    book = stage.play() >> client_sends(offsets_of_all_topics("g"), 10)
    book << to_broker(offsets_of_all_topics(GROUP)) >> client_sends(fetch(other)) << looks_up({other})
    book >> broker_answers(offsets(GROUP, OWN)) << looks_up({other, OWN})

    def first_is_looked_up(book: Playbook) -> str:
        stage.topic_ids.learn(other, physical_name("acme", "billing").encode())
        book.play(lambda: book.session.meet(TopicIds(frozenset({other}))), CloseReason.MALFORMED)
        return "the first look-up ends"

    book >> first_is_looked_up << looks_up({OWN}) << to_broker(fetch(other))

    assert book >> learns({OWN: ORDERS}) << to_client(offsets("g", OWN))

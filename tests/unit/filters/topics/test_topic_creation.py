from dataclasses import replace

import pytest

from bifrost.config.policies.policy import Policy
from bifrost.filters.steps import TopicCount
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.topic_bounds import COUNTED_FOR_MS
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import (
    Playbook,
    broker_answers,
    client_sends,
    counted,
    counts,
    to_broker,
    to_client,
)
from support.stage.stage import TENANTS, Stage

VERSIONS = range(2, 8)
INVALID, DENIED = ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED
LONGEST = 249 - len(prefix_of("initech"))


def create(*names: str):
    config = [{"name": "cleanup.policy", "value": "compact"}, {"name": "retention.ms", "value": None}]
    topics = [
        {"name": name, "num_partitions": 3, "replication_factor": 1, "configs": config} for name in names
    ]
    return messages.CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=True)


def created(*names: str):
    return [{"name": name, "num_partitions": 3, "replication_factor": 1} for name in names]


def refused(name: str, error_code: ErrorCode = DENIED, error_message: str | None = None):
    text = error_code.message if error_message is None else error_message
    return {"name": name, "error_code": error_code, "error_message": text, "configs": []}


def results(*topics):
    return messages.CreateTopicsResponse(topics=list(topics))


@pytest.mark.parametrize("version", VERSIONS)
def test_own_topics_are_created(stage: Stage, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(create("orders", "audit.log"), version)
        << to_broker(create(physical_name("acme", "orders"), physical_name("acme", "audit.log")))
        >> broker_answers(
            results(*created(physical_name("acme", "orders"), physical_name("acme", "audit.log")))
        )
        << to_client(results(*created("orders", "audit.log")))
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_refused_is_kept_back_and_answered_with_the_rest(stage: Stage, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(create("users", "orders", "secret"), version)
        << to_broker(create(physical_name("acme", "orders")))
        >> broker_answers(results(*created(physical_name("acme", "orders"))))
        << to_client(results(*created("orders"), refused("users"), refused("secret")))
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_where_all_is_refused_the_broker_is_not_asked(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(create("users", "secret"), version)

    assert book << to_client(results(refused("users"), refused("secret")))


def test_a_name_that_exists_for_others_is_refused_as_one_that_does_not(stage: Stage) -> None:
    answers = []
    for name in ("users", "nosuch"):
        book = stage.play("acme") >> client_sends(create(name))
        answers.append(book.said.to_client.popleft())

    assert answers[0].replace(b"\x06users", b"\x07nosuch") == answers[1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        (".", "Topic name is invalid: '.' is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        ("x" * (LONGEST + 1), f"it has {LONGEST + 1} characters, and here it may have at most {LONGEST}"),
    ],
)
def test_a_name_that_would_only_be_legal_behind_the_prefix_is_refused(
    stage: Stage, name: str, text: str
) -> None:
    book = stage.play("initech") >> client_sends(create(name))
    (frame,) = book.said.to_client

    assert int(INVALID).to_bytes(2, "big") in frame
    assert text.encode() in frame
    book.said.to_client.clear()


def test_the_longest_name_that_fits_is_created(stage: Stage) -> None:
    book = stage.play("initech") >> client_sends(create("x" * LONGEST))

    assert book << to_broker(create(prefix_of("initech") + "x" * LONGEST))
    assert len(prefix_of("initech") + "x" * LONGEST) == 249


@pytest.mark.parametrize("name", ["a/b", "/a", "a b", "ä", physical_name("initech", "/a")])
def test_a_name_that_is_illegal_anyhow_is_left_to_the_broker(stage: Stage, name: str) -> None:
    physical = physical_name("initech", f"{'/' if name.startswith('/') else ''}{name}")
    text = f"Topic name is invalid: '{physical}' contains one or more characters"
    answer = refused(physical, INVALID, text)
    virtual_text = text.replace(physical_name("initech", "/"), "").replace(prefix_of("initech"), "")

    book = stage.play("initech") >> client_sends(create(name)) << to_broker(create(physical))

    assert book >> broker_answers(results(answer)) << to_client(results(refused(name, INVALID, virtual_text)))


def test_an_error_text_is_in_virtual_names(stage: Stage) -> None:
    exists = ErrorCode.TOPIC_ALREADY_EXISTS
    answer = refused(
        physical_name("acme", "orders"), exists, f"Topic '{physical_name('acme', 'orders')}' already exists."
    )
    book = (
        stage.play() >> client_sends(create("orders")) << to_broker(create(physical_name("acme", "orders")))
    )

    book >> broker_answers(results(answer))

    assert book << to_client(results(refused("orders", exists, "Topic 'orders' already exists.")))


def test_a_text_that_names_another_tenants_topic_is_dropped(stage: Stage) -> None:
    collides = f"Topic 'x' collides with existing topics: {physical_name('globex', 'orders')}"
    answer = refused(physical_name("acme", "orders"), INVALID, collides)
    book = (
        stage.play() >> client_sends(create("orders")) << to_broker(create(physical_name("acme", "orders")))
    )

    book >> broker_answers(results(answer))

    assert book << to_client(results(refused("orders", INVALID, "")))


def test_no_topics_are_left_to_the_broker(stage: Stage) -> None:
    assert stage.play() >> client_sends(create()) << to_broker(create())


def test_the_id_of_a_created_topic_is_known_at_once(stage: Stage) -> None:
    own = b"the new topic ID"
    book = (
        stage.play() >> client_sends(create("orders")) << to_broker(create(physical_name("acme", "orders")))
    )

    book >> broker_answers(results({"name": physical_name("acme", "orders"), "topic_id": own}))

    assert book << to_client(results({"name": "orders", "topic_id": own}))
    assert stage.topic_ids.name_of(own) == physical_name("acme", "orders").encode()


def bounded(max_topics: int, max_partitions: int = 100) -> Stage:
    limits = {"max_topics": max_topics, "max_partitions": max_partitions}
    return Stage({**TENANTS, "acme": replace(TENANTS["acme"], **limits)})


def violated(name: str, text: str):
    return refused(name, ErrorCode.POLICY_VIOLATION, text)


@pytest.mark.parametrize("version", VERSIONS)
def test_more_topics_than_the_tenant_may_have_are_refused(version: int) -> None:
    stage = bounded(max_topics=2)
    book = stage.play() >> client_sends(create("orders", "billing", "events"), version) << counts()

    book >> counted(stage.namespaces["acme"].bounds, {physical_name("acme", "billing"): 1})

    book << to_broker(create(physical_name("acme", "orders"), physical_name("acme", "billing")))
    book >> broker_answers(
        results(*created(physical_name("acme", "orders"), physical_name("acme", "billing")))
    )
    text = "Another topic is not allowed: there are 2, and this cluster allows 2 (max_topics)"
    assert book << to_client(results(*created("orders", "billing"), violated("events", text)))


def test_more_partitions_than_the_tenant_may_have_are_refused() -> None:
    stage = bounded(max_topics=9, max_partitions=5)
    book = stage.play() >> client_sends(create("orders", "billing")) << counts()

    book >> counted(stage.namespaces["acme"].bounds, {}) << to_broker(create(physical_name("acme", "orders")))

    book >> broker_answers(results(*created(physical_name("acme", "orders"))))
    text = "3 more partitions are not allowed: there are 3 over all topics, and this cluster allows 5"
    assert book << to_client(results(*created("orders"), violated("billing", f"{text} (max_partitions)")))


def test_assignments_count_as_many_partitions_as_they_name() -> None:
    stage = bounded(max_topics=9, max_partitions=1)
    policy = ResourcePolicy(Policy(allow_replica_assignments=True))
    stage.namespaces["acme"].policy = policy
    places = [{"partition_index": number, "broker_ids": [1]} for number in range(2)]
    topic = {"name": "orders", "num_partitions": -1, "replication_factor": -1, "assignments": places}
    request = messages.CreateTopicsRequest(topics=[topic], timeout_ms=1000)

    book = stage.play() >> client_sends(request) << counts()
    book >> counted(stage.namespaces["acme"].bounds, {})

    text = "2 more partitions are not allowed: there are 0 over all topics, and this cluster allows 1"
    assert book << to_client(results(violated("orders", f"{text} (max_partitions)")))


def test_what_is_only_validated_takes_no_room() -> None:
    stage = bounded(max_topics=1)
    for name in ("orders", "billing"):
        book = stage.play() >> client_sends(create(name))
        if name == "orders":
            book << counts()
            book >> counted(stage.namespaces["acme"].bounds, {})

        assert book << to_broker(create(physical_name("acme", name)))


def test_a_request_that_waited_too_long_for_its_turn_is_not_counted_for_again() -> None:
    stage = bounded(max_topics=1)
    book = stage.play() >> client_sends(create("orders")) << counts()
    bounds = stage.namespaces["acme"].bounds
    assert bounds is not None

    def counted_late(book: Playbook) -> str:
        bounds.count({}, 1)
        stage.now_ms += COUNTED_FOR_MS
        book.play(lambda: book.session.meet(TopicCount()), CloseReason.MALFORMED)
        return "the topics were counted some time ago"

    book >> counted_late

    assert book << to_broker(create(physical_name("acme", "orders")))

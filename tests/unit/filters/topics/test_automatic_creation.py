"""Metadata that creates what it names, for a tenant with bounds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bifrost.forwarding.broker_costs import NEW_PARTITION_NS, broker_cost_ns
from bifrost.tenancy.topic_bounds import COUNTED_FOR_MS, TOPICS_LIMIT
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.messages import metadata, metadata_of
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

PREFIX = prefix_of("initech")
VERSIONS = range(14)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Broker = Callable[..., messages.Message]


@pytest.fixture
def stage() -> Stage:
    return Stage({**TENANTS, "initech": replace(TENANTS["initech"], max_topics=2)})


def physical(*names: str) -> list[str]:
    return [PREFIX + name for name in names]


def asks_first(*names: str):
    return metadata(*physical(*names), allow_auto_topic_creation=False)


def answer_about(there: tuple[str, ...], absent: tuple[str, ...] = (), tenant: str | None = None):
    answer = metadata_of(*there, tenant=tenant) if tenant else metadata_of(*there)
    answer.topics += messages.MetadataResponse(
        topics=[{"name": name, "error_code": UNKNOWN} for name in absent]
    ).topics
    return answer


def found_absent(stage: Stage, *names: str, version: int = 12) -> Playbook:
    """Let a client ask for topics that do not exist, until the gateway has found out."""
    book = stage.play("initech") >> client_sends(metadata(*names), version) << to_broker(asks_first(*names))
    return book >> broker_answers(answer_about((), tuple(physical(*names))))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_exists_is_asked_for_once_more_and_then_passes(stage: Stage, version: int) -> None:
    book = stage.play("initech") >> client_sends(metadata("a"), version) << to_broker(asks_first("a"))
    book >> broker_answers(metadata_of(*physical("a")))
    book << to_broker(metadata(*physical("a")))
    book >> broker_answers(metadata_of(*physical("a"))) << to_client(metadata_of("a", tenant="initech"))

    book >> client_sends(metadata("a"), version) << to_broker(metadata(*physical("a")))

    assert (
        book >> broker_answers(metadata_of(*physical("a"))) << to_client(metadata_of("a", tenant="initech"))
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_within_the_bounds_is_created(stage: Stage, version: int) -> None:
    book = found_absent(stage, "new", version=version) << counts()
    book >> counted(stage.namespaces["initech"].bounds, {PREFIX + "a": 1})

    assert book << to_broker(metadata(*physical("new")))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_beyond_them_is_not_and_the_rest_goes_on(stage: Stage, version: int) -> None:
    book = stage.play("initech") >> client_sends(metadata("a", "b", "c", "d"), version)
    book << to_broker(asks_first("a", "b", "c", "d"))
    book >> broker_answers(answer_about(tuple(physical("a")), tuple(physical("b", "c", "d")))) << counts()
    book >> counted(stage.namespaces["initech"].bounds, {PREFIX + "a": 1})

    book << to_broker(metadata(*physical("a", "b"))) >> broker_answers(metadata_of(*physical("a", "b")))

    assert book << to_client(answer_about(("a", "b"), ("c", "d"), tenant="initech"))
    assert stage.hits == {(TOPICS_LIMIT, "initech"): 2}


@pytest.mark.parametrize("version", VERSIONS)
def test_where_nothing_is_left_no_topic_is_asked_for(stage: Stage, version: int) -> None:
    book = found_absent(stage, "new", version=version) << counts()
    book >> counted(stage.namespaces["initech"].bounds, {PREFIX + "a": 1, PREFIX + "b": 1})
    illegal = messages.MetadataResponse(
        topics=[{"name": PREFIX + "~", "error_code": ErrorCode.INVALID_TOPIC_EXCEPTION}]
    )

    book << to_broker(metadata(PREFIX + "~")) >> broker_answers(illegal)

    assert book << to_client(messages.MetadataResponse(topics=[{"name": "new", "error_code": UNKNOWN}]))


def test_a_count_of_a_moment_ago_does(stage: Stage) -> None:
    bounds = stage.namespaces["initech"].bounds
    assert bounds is not None
    bounds.count({}, 1)

    assert found_absent(stage, "new") << to_broker(metadata(*physical("new")))

    stage.now_ms += COUNTED_FOR_MS
    assert found_absent(stage, "newer") << counts()


def test_names_that_were_let_through_count_together(stage: Stage) -> None:
    bounds = stage.namespaces["initech"].bounds
    assert bounds is not None
    bounds.count({}, 1)
    found_absent(stage, "one") << to_broker(metadata(*physical("one")))
    found_absent(stage, "two") << to_broker(metadata(*physical("two")))

    assert found_absent(stage, "three") << to_broker(metadata(PREFIX + "~"))


def test_who_creates_nothing_asks_once(stage: Stage) -> None:
    request = metadata("a", allow_auto_topic_creation=False)

    book = stage.play("initech") >> client_sends(request, 12) << to_broker(asks_first("a"))
    book >> broker_answers(answer_about((), tuple(physical("a"))))

    assert book << to_client(answer_about((), ("a",)))


def test_what_follows_waits_and_keeps_its_order(stage: Stage) -> None:
    heartbeat = messages.HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    book = stage.play("initech") >> client_sends(metadata("a"), 12) << to_broker(asks_first("a"))
    book >> client_sends(heartbeat)

    book >> broker_answers(metadata_of(*physical("a")))

    book << to_broker(metadata(*physical("a")))
    assert book << to_broker(
        messages.HeartbeatRequest(group_id=physical_name("initech", "g"), generation_id=1, member_id="m")
    )


def test_topics_by_id_create_nothing(stage: Stage) -> None:
    topic_id = stage.topic(PREFIX + "a")
    request = messages.MetadataRequest(topics=[{"topic_id": topic_id, "name": None}])

    assert stage.play("initech") >> client_sends(request, 12) << to_broker(request)


def test_a_deletion_has_it_asked_again(stage: Stage) -> None:
    book = stage.play("initech") >> client_sends(metadata("a"), 12) << to_broker(asks_first("a"))
    book >> broker_answers(metadata_of(*physical("a"))) << to_broker(metadata(*physical("a")))
    bounds = stage.namespaces["initech"].bounds
    assert bounds is not None

    bounds.note_deleted(PREFIX.encode() + b"a")

    assert stage.play("initech") >> client_sends(metadata("a"), 12) << to_broker(asks_first("a"))


def test_a_tenant_without_bounds_is_not_asked_for(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
    )


def test_a_topic_that_is_created_is_charged_to_the_brokers_time(stage: Stage) -> None:
    book = found_absent(stage, "a", "b", "c") << counts()
    load = stage.shared.lanes.in_flight_limits.load("initech")
    before_ns = load.broker_left_ns

    book >> counted(stage.namespaces["initech"].bounds, {}, default_partitions=8)

    assert book << to_broker(metadata(*physical("a", "b")))
    charged_ns = 2 * 8 * NEW_PARTITION_NS + broker_cost_ns(ApiKey.METADATA)
    assert before_ns - load.broker_left_ns == charged_ns

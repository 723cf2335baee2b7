"""What a session finds out before a Metadata request that may create topics; the rest is in filters/."""

from dataclasses import replace

import pytest

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.session.close_reason import CloseReason
from bifrost.wire.api_keys import ApiKey
from support.physical_names import physical_name, prefix_of
from support.stage.hasty_turns import HastyTurns, pausing_everywhere
from support.stage.messages import metadata, metadata_of
from support.stage.playbook import (
    broker_answers,
    broker_sends_frame,
    client_sends,
    ends,
    holds,
    to_broker,
    to_client,
)
from support.stage.stage import TENANTS, Stage

PREFIX = prefix_of("acme")


@pytest.fixture
def stage() -> Stage:
    return Stage({**TENANTS, "acme": replace(TENANTS["acme"], max_topics=2)})


def forbidding(*names: str):
    return metadata(*(PREFIX + name for name in names), allow_auto_topic_creation=False)


def test_a_version_that_cannot_forbid_creation_is_not_asked_by(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("orders"), 1)

    frame = book.said.to_broker[0]

    assert frame[:4] == b"\0\x03\0\x04"
    assert book << to_broker(forbidding("orders"))


def test_hidden_names_are_not_asked_for(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("orders", "users"), 12)

    assert book << to_broker(forbidding("orders"))


def test_a_request_of_hidden_names_only_goes_on(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("users"), 12)

    assert book << to_broker(metadata(stage.namespaces["acme"].names.denied(b"users").decode()))


@pytest.mark.parametrize("name", ["a b", "x" * 250, "x" * (250 - len(PREFIX))])
def test_names_that_no_topic_can_have_are_not_asked_for(name: str) -> None:
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], allowed_topics=None, max_topics=2)})
    book = stage.play() >> client_sends(metadata("orders", name), 12)

    assert book << to_broker(forbidding("orders"))
    assert stage.play() >> client_sends(metadata(name), 12) << to_broker(metadata(PREFIX + name))


def test_names_that_are_known_are_not_asked_for_again(stage: Stage) -> None:
    stage.namespaces["acme"].existing.add(b"orders")

    book = stage.play() >> client_sends(metadata("orders", "billing"), 12)

    assert book << to_broker(forbidding("billing"))


def test_the_client_is_not_read_meanwhile(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("orders"), 12) << to_broker(forbidding("orders"))
    assert book << holds(requests=True)

    book >> broker_answers(metadata_of(PREFIX + "orders")) << to_broker(metadata(PREFIX + "orders"))

    assert book << holds()


def test_the_next_request_is_looked_at_anew(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("orders"), 12) << to_broker(forbidding("orders"))
    book >> broker_answers(metadata_of(PREFIX + "orders")) << to_broker(metadata(PREFIX + "orders"))

    assert book >> client_sends(metadata("billing"), 12) << to_broker(forbidding("billing"))


def test_an_answer_that_cannot_be_read_ends_the_connection(stage: Stage) -> None:
    book = stage.play() >> client_sends(metadata("orders"), 12) << to_broker(forbidding("orders"))
    correlation_id = book.asked_of_broker[0].correlation_id

    book >> broker_sends_frame(correlation_id.to_bytes(4, "big") + b"\0\0")

    assert book << ends(CloseReason.BROKER_MISBEHAVED)


@pytest.mark.parametrize("count", [1, 300])
def test_it_may_pause_wherever_it_can(stage: Stage, count: int) -> None:
    names = [f"topic-{number}" for number in range(count)]
    physical = [physical_name("initech", name) for name in names]
    stage = Stage({**TENANTS, "initech": replace(TENANTS["initech"], max_topics=2)})
    stage.shared.turns = HastyTurns()

    with pausing_everywhere():
        book = stage.play("initech") >> client_sends(metadata(*names), 12)
        book << to_broker(metadata(*physical, allow_auto_topic_creation=False))
        book >> broker_answers(metadata_of(*physical)) << to_broker(metadata(*physical))

        assert (
            book >> broker_answers(metadata_of(*physical)) << to_client(metadata_of(*names, tenant="initech"))
        )


def test_the_names_that_are_asked_for_are_charged_to_the_brokers_time() -> None:
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], allowed_topics=None, max_topics=2)})
    load = stage.shared.lanes.in_flight_limits.load("acme")
    before_ns, names = load.broker_left_ns, [f"n{number}" for number in range(500)]

    assert stage.play() >> client_sends(metadata(*names), 12) << to_broker(forbidding(*names))

    assert before_ns - load.broker_left_ns == broker_cost_ns(ApiKey.METADATA) + len(names) * ITEM_NS

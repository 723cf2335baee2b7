import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.messages import metadata, metadata_of, topic_id
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import WITHOUT_TOPIC_PAGES, Stage

ALL_VERSIONS = range(14)
INVALID, UNKNOWN = ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def failed(name: str, error_code: ErrorCode):
    return messages.MetadataResponse(topics=[{"name": name, "error_code": error_code}])


def both(one, other):
    one.topics += other.topics
    return one


def all_topics(version: int):
    # Before v1 an empty list means all.
    return messages.MetadataRequest(topics=[] if version == 0 else None)


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_an_own_topic_is_described(stage: Stage, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(metadata("orders"), version)
        << to_broker(metadata(physical_name("acme", "orders")))
        >> broker_answers(metadata_of(physical_name("acme", "orders")))
        << to_client(metadata_of("orders", tenant="acme"))
    )


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_a_hidden_topic_does_not_exist(stage: Stage, version: int) -> None:
    assert (
        stage.play("acme")
        >> client_sends(metadata("users"), version)
        << to_broker(metadata(physical_name("acme", "/users")))
        >> broker_answers(failed(physical_name("acme", "/users"), INVALID))
        << to_client(failed("users", UNKNOWN))
    )


def test_a_hidden_and_an_unknown_topic_are_answered_the_same_in_every_byte(stage: Stage) -> None:
    # users exists, for globex; nosuch exists nowhere.
    answers = []
    for name in ("users", "nosuch"):
        book = (
            stage.play("acme")
            >> client_sends(metadata(name))
            << to_broker(metadata(physical_name("acme", f"/{name}")))
        )
        book >> broker_answers(failed(physical_name("acme", f"/{name}"), INVALID))
        answers.append(book.said.to_client.popleft())

    assert answers[0].replace(b"\x06users", b"\x07nosuch") == answers[1]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_an_own_topic_that_the_broker_lacks_is_answered_as_a_hidden_one(stage: Stage, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(metadata("events"), version)
        << to_broker(metadata(physical_name("acme", "events")))
        >> broker_answers(failed(physical_name("acme", "events"), UNKNOWN))
        << to_client(failed("events", UNKNOWN))
    )


@pytest.mark.parametrize("version", [0, 4, 13])
@pytest.mark.parametrize("name", ["", "a b", "a/b", "/orders", ".", "..", "x" * 250, "ä"])
def test_a_name_that_no_topic_can_have_is_invalid(stage: Stage, version: int, name: str) -> None:
    assert (
        stage.play()
        >> client_sends(metadata(name), version)
        << to_broker(metadata(physical_name("acme", f"/{name}")))
        >> broker_answers(failed(physical_name("acme", f"/{name}"), INVALID))
        << to_client(failed(name, INVALID))
    )


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_all_topics_are_all_of_the_tenant(version: int) -> None:
    on_the_broker = [
        "__consumer_offsets",
        physical_name("initech", "orders"),
        physical_name("globex", "orders"),
        physical_name("acme", "x"),
        "orders",
        physical_name("initech", "audit.log"),
    ]
    assert (
        Stage(versions=WITHOUT_TOPIC_PAGES).play("initech")
        >> client_sends(all_topics(version), version)
        << to_broker(all_topics(version))
        >> broker_answers(metadata_of(*on_the_broker))
        << to_client(metadata_of("orders", "audit.log", tenant="initech"))
    )


@pytest.mark.parametrize("version", range(4, 14))
def test_a_tenant_with_a_list_is_asked_for_by_name(stage: Stage, version: int) -> None:
    listed = [physical_name("acme", name) for name in ("audit.log", "billing", "events", "orders")]
    book = stage.play("acme") >> client_sends(all_topics(version), version)

    book << to_broker(metadata(*listed, allow_auto_topic_creation=False))
    book >> broker_answers(
        both(metadata_of(physical_name("acme", "orders")), failed(physical_name("acme", "billing"), UNKNOWN))
    )

    assert book << to_client(metadata_of("orders", tenant="acme"))


@pytest.mark.parametrize("version", range(4))
def test_a_request_that_could_create_what_it_names_asks_for_all(stage: Stage, version: int) -> None:
    on_the_broker = [
        physical_name("acme", "orders"),
        physical_name("acme", "users"),
        physical_name("globex", "orders"),
    ]  # users is not in its list
    assert (
        stage.play("acme")
        >> client_sends(all_topics(version), version)
        << to_broker(all_topics(version))
        >> broker_answers(metadata_of(*on_the_broker))
        << to_client(metadata_of("orders", tenant="acme"))
    )


@pytest.mark.parametrize("version", [1, 13])
def test_no_topics_are_no_topics(stage: Stage, version: int) -> None:
    assert stage.play() >> client_sends(metadata(), version) << to_broker(metadata())


@pytest.mark.parametrize("version", [12, 13])
def test_an_own_topic_is_described_by_its_id(stage: Stage, version: int) -> None:
    own = stage.topic(physical_name("acme", "orders"))
    asked = messages.MetadataRequest(topics=[{"topic_id": own, "name": None}])
    assert (
        stage.play()
        >> client_sends(asked, version)
        << to_broker(asked)
        >> broker_answers(metadata_of(physical_name("acme", "orders")))
        << to_client(metadata_of("orders", tenant="acme"))
    )


def test_a_dynamic_namespace_has_every_topic_under_its_prefix() -> None:
    assert (
        Stage(versions=WITHOUT_TOPIC_PAGES).play("initech")
        >> client_sends(all_topics(13))
        << to_broker(all_topics(13))
        >> broker_answers(
            metadata_of(
                physical_name("initech", "a"),
                physical_name("initech", "_b"),
                prefix_of("initech"),
                physical_name("initec", "c"),
            )
        )
        << to_client(metadata_of("a", "_b", tenant="initech"))
    )


def test_the_operations_of_a_tenant_are_told_where_it_asks(stage: Stage) -> None:
    everything = 0b1_1111_1111_1000
    asked, physical = (
        messages.MetadataRequest(topics=[{"name": name}], include_topic_authorized_operations=True)
        for name in ("orders", physical_name("acme", "orders"))
    )
    answer = metadata_of(physical_name("acme", "orders"))
    answer.topics[0].topic_authorized_operations = everything
    expected = metadata_of("orders", tenant="acme")
    expected.topics[0].topic_authorized_operations = everything & ~(1 << 6 | 1 << 9 | 1 << 12)

    book = stage.play() >> client_sends(asked) << to_broker(physical) >> broker_answers(answer)

    assert book << to_client(expected)


def test_an_error_of_the_whole_answer_passes(stage: Stage) -> None:
    error = messages.MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    book = (
        stage.play()
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
    )

    assert book >> broker_answers(error) << to_client(error)


def test_topics_are_known_by_their_ids_from_then_on(stage: Stage) -> None:
    book = (
        stage.play()
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
    )

    (
        book
        >> broker_answers(metadata_of(physical_name("acme", "orders")))
        << to_client(metadata_of("orders", tenant="acme"))
    )

    assert book
    assert (
        stage.topic_ids.name_of(topic_id(physical_name("acme", "orders")))
        == physical_name("acme", "orders").encode()
    )

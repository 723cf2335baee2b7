import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import topic_id
from support.stage.playbook import broker_answers, client_sends, learns, looks_up, to_broker, to_client
from support.stage.stage import Stage, Tenant

VERSIONS = range(1, 7)
DENIED, UNKNOWN = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID


@pytest.fixture
def allowed() -> Stage:
    """acme may delete its topics, globex may not."""
    return Stage(
        {"acme": Tenant(("orders", "billing"), allow_topic_deletion=True), "globex": Tenant(("users",))}
    )


def delete(*names: str, version: int):
    if version < 6:
        return messages.DeleteTopicsRequest(topic_names=list(names), timeout_ms=1000)
    return messages.DeleteTopicsRequest(topics=[{"name": name} for name in names], timeout_ms=1000)


def delete_by_id(*topic_ids: bytes):
    topics = [{"name": None, "topic_id": one} for one in topic_ids]
    return messages.DeleteTopicsRequest(topics=topics, timeout_ms=1000)


def result(name: str | None, error_code: ErrorCode = ErrorCode.NONE, topic_id: bytes = bytes(16)):
    text = None if error_code == ErrorCode.NONE else error_code.message
    return {"name": name, "topic_id": topic_id, "error_code": error_code, "error_message": text}


def results(*responses):
    return messages.DeleteTopicsResponse(responses=list(responses))


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_are_not_deleted_unless_the_operator_allows_it(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(delete("orders", "billing", version=version), version)

    assert book << to_client(results(result("orders", DENIED), result("billing", DENIED)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_hidden_topic_does_not_exist_rather_than_being_denied(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(delete("users", "nosuch", "orders", version=version), version)

    assert book << to_client(
        results(result("users", UNKNOWN), result("nosuch", UNKNOWN), result("orders", DENIED))
    )


def test_an_id_is_refused_by_whose_it_is(stage: Stage) -> None:
    own, foreign = (
        stage.topic(physical_name("acme", "orders")),
        stage.topic(physical_name("globex", "orders")),
    )
    absent = topic_id("absent")

    book = stage.play() >> client_sends(delete_by_id(own, foreign, absent)) << looks_up({absent})

    assert (
        book
        >> learns({absent: None})
        << to_client(
            results(
                result("orders", DENIED, own),
                result(None, UNKNOWN_ID, foreign),
                result(None, UNKNOWN_ID, absent),
            )
        )
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_where_it_is_allowed_own_topics_are_deleted(allowed: Stage, version: int) -> None:
    assert (
        allowed.play()
        >> client_sends(delete("orders", "users", version=version), version)
        << to_broker(
            delete(physical_name("acme", "orders"), physical_name("acme", "/users"), version=version)
        )
        >> broker_answers(
            results(result(physical_name("acme", "orders")), result(physical_name("acme", "/users"), UNKNOWN))
        )
        << to_client(results(result("orders"), result("users", UNKNOWN)))
    )


def test_own_topics_are_deleted_by_id_and_foreign_ones_do_not_exist(allowed: Stage) -> None:
    own, foreign = (
        allowed.topic(physical_name("acme", "orders")),
        allowed.topic(physical_name("globex", "users")),
    )
    masked = allowed.masked(foreign)
    assert (
        allowed.play()
        >> client_sends(delete_by_id(own, foreign))
        << to_broker(delete_by_id(own, masked))
        >> broker_answers(
            results(result(physical_name("acme", "orders"), topic_id=own), result(None, UNKNOWN_ID, masked))
        )
        << to_client(results(result("orders", topic_id=own), result(None, UNKNOWN_ID, foreign)))
    )


def test_what_one_tenant_may_another_may_not(allowed: Stage) -> None:
    book = allowed.play("globex") >> client_sends(delete("users", version=6))

    assert book << to_client(results(result("users", DENIED)))


@pytest.mark.parametrize("version", VERSIONS)
def test_no_topics_are_answered_with_none(stage: Stage, version: int) -> None:
    assert stage.play() >> client_sends(delete(version=version), version) << to_client(results())


def test_one_item_stands_in_for_all_that_the_broker_refuses_alike(allowed: Stage) -> None:
    own, zero = allowed.topic(physical_name("acme", "orders")), bytes(16)
    ids = [number.to_bytes(16, "big") for number in range(1, 10)]
    allowed.namespaces["acme"].looked_up(ids)
    invalid = ErrorCode.INVALID_REQUEST
    items = [
        *((None, one) for one in [*ids[:6], own, *ids[4:6], *ids[4:6]]),
        *[(None, zero)] * 3,
        *(("billing", one) for one in [ids[6], own]),
    ]
    masks = {one: allowed.masked(one) for one in ids}
    sent = [(None, masks[ids[0]]), (None, masks[ids[4]]), (None, own), (None, masks[ids[4]]), (None, zero)]
    sent.append((physical_name("acme", "billing"), masks[ids[6]]))
    states = [{"name": name, "topic_id": one} for name, one in items]
    forwarded = [{"name": name, "topic_id": one} for name, one in sent]
    assert (
        allowed.play()
        >> client_sends(messages.DeleteTopicsRequest(topics=states))
        << to_broker(messages.DeleteTopicsRequest(topics=forwarded))
        >> broker_answers(
            results(
                result(physical_name("acme", "orders"), ErrorCode.NONE, own),
                result(None, invalid, zero),
                result(physical_name("acme", "billing"), invalid, masks[ids[6]]),
                result(None, invalid, masks[ids[4]]),
                result(None, UNKNOWN_ID, masks[ids[0]]),
            )
        )
        << to_client(
            results(
                result("orders", ErrorCode.NONE, own),
                *[result(None, invalid, zero)] * 3,
                result("billing", invalid, ids[6]),
                result("billing", invalid, own),
                *[result(None, invalid, one) for one in ids[4:6]],
                *[result(None, UNKNOWN_ID, one) for one in ids[:4]],
            )
        )
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_deleted_makes_room_for_others(version: int) -> None:
    stage = Stage({"acme": Tenant(("orders", "billing"), allow_topic_deletion=True, max_topics=1)})
    bounds = stage.namespaces["acme"].bounds
    assert bounds is not None
    bounds.count({physical_name("acme", "orders").encode(): 1}, 1)
    book = stage.play() >> client_sends(delete("orders", "billing", version=version), version)
    book << to_broker(
        delete(physical_name("acme", "orders"), physical_name("acme", "billing"), version=version)
    )
    assert bounds.grow().add(physical_name("acme", "new").encode(), 1) is not None

    book >> broker_answers(
        results(result(physical_name("acme", "orders")), result(physical_name("acme", "billing"), UNKNOWN))
    )

    assert book << to_client(results(result("orders"), result("billing", UNKNOWN)))
    assert bounds.grow().add(physical_name("acme", "new").encode(), 1) is None

import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import UPSTREAM, Stage, Tenant

UNKNOWN, INVALID = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION
LISTED = ["audit.log", "billing", "events", "orders"]


def ask(*topics: str, cursor: tuple[str, int] | None = None):
    place = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    return messages.DescribeTopicPartitionsRequest(
        topics=[{"name": name} for name in topics], response_partition_limit=10, cursor=place
    )


def page(*topics: str | tuple[str, ErrorCode], next_cursor: tuple[str, int] | None = None):
    entries = [
        {"name": one} if isinstance(one, str) else {"name": one[0], "error_code": one[1]} for one in topics
    ]
    place = None if next_cursor is None else {"topic_name": next_cursor[0], "partition_index": next_cursor[1]}
    return messages.DescribeTopicPartitionsResponse(topics=entries, next_cursor=place)


def physical(*names: str, tenant: str = "acme") -> list[str]:
    return [physical_name(tenant, name) for name in names]


def test_topics_are_described_by_name(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(ask("orders", "users"))
        << to_broker(ask(physical_name("acme", "orders"), physical_name("acme", "/users")))
        >> broker_answers(page(physical_name("acme", "orders"), (physical_name("acme", "/users"), INVALID)))
        << to_client(page("orders", ("users", UNKNOWN)))
    )


def test_all_topics_are_those_of_the_list_that_exist(stage: Stage) -> None:
    answer = page(
        physical_name("acme", "billing"),
        (physical_name("acme", "events"), UNKNOWN),
        physical_name("acme", "orders"),
    )
    assert (
        stage.play()
        >> client_sends(ask())
        << to_broker(ask(*physical(*LISTED)))
        >> broker_answers(answer)
        << to_client(page("billing", "orders"))
    )


def test_the_next_page_begins_at_the_cursor(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(ask(cursor=("events", 3)))
        << to_broker(ask(*physical("events", "orders"), cursor=(physical_name("acme", "events"), 3)))
        >> broker_answers(
            page(physical_name("acme", "events"), next_cursor=(physical_name("acme", "orders"), 1))
        )
        << to_client(page("events", next_cursor=("orders", 1)))
    )


def test_a_cursor_at_a_hidden_topic_shows_nothing_of_it(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(ask(cursor=("nosuch", 3)))
        << to_broker(ask(*physical("orders")))
        >> broker_answers(page(physical_name("acme", "orders")))
        << to_client(page("orders"))
    )


def test_behind_the_last_topic_the_page_is_empty(stage: Stage) -> None:
    assert stage.play() >> client_sends(ask(cursor=("z", 0))) << to_client(page())


def test_a_tenant_without_topics_gets_an_empty_page() -> None:
    stage = Stage({"acme": Tenant(())})
    assert stage.play() >> client_sends(ask()) << to_client(page())


def test_a_dynamic_namespace_begins_where_its_prefix_does(stage: Stage) -> None:
    answer = page(
        physical_name("initech", "a"),
        physical_name("initech", "b"),
        physical_name("zeta", "c"),
        next_cursor=(physical_name("zeta", "d"), 0),
    )
    assert (
        stage.play("initech")
        >> client_sends(ask())
        << to_broker(ask(cursor=(physical_name("initech", "-"), 0)))
        >> broker_answers(answer)
        << to_client(page("a", "b"))
    )


@pytest.mark.parametrize("cursor", [("b", 2), (physical_name("globex", "a"), 0), ("~", 0)])
def test_a_cursor_stays_within_a_dynamic_namespace(stage: Stage, cursor: tuple[str, int]) -> None:
    assert (
        stage.play("initech")
        >> client_sends(ask(cursor=cursor))
        << to_broker(ask(cursor=(physical_name("initech", cursor[0]), cursor[1])))
        >> broker_answers(
            page(
                physical_name("globex", "x"),
                physical_name("zeta", "c"),
                next_cursor=(physical_name("initech", "q"), 1),
            )
        )
        << to_client(page(next_cursor=("q", 1)))
    )


def test_the_operations_are_the_tenants(stage: Stage) -> None:
    answer, expected = (
        messages.DescribeTopicPartitionsResponse(topics=[{"name": name, "topic_authorized_operations": bits}])
        for name, bits in ((physical_name("acme", "orders"), 0b1111000), ("orders", 0b0111000))
    )
    book = stage.play() >> client_sends(ask("orders")) << to_broker(ask(physical_name("acme", "orders")))

    assert book >> broker_answers(answer) << to_client(expected)


def test_a_list_with_moved_topics_goes_on_in_the_order_of_the_broker(stage: Stage) -> None:
    key = StateKey(KIND, "zeta/a")
    stage.aliases.configure(
        {name: TenantPlace(UPSTREAM, physical_name(name, "")) for name in ("acme", "zeta")}
    )
    body = {"owner": "acme/a", "shares": {}}
    stage.aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))

    assert (
        stage.play()
        >> client_sends(ask(cursor=("events", 3)))
        << to_broker(
            ask(
                *physical("events", "orders"),
                physical_name("zeta", "a"),
                cursor=(physical_name("acme", "events"), 3),
            )
        )
    )

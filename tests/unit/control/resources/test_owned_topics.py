from typing import Any

import pytest

from support.control.table_backend import Api
from support.physical_names import physical_name

TOPICS = "/v1/namespaces/acme:eu/topics"


@pytest.fixture
def eu(api: Api) -> Api:
    assert api.ask("POST", "/v1/namespaces", {"name": "acme:eu"}).status_code == 201
    return api


def described(topic: str, physical: str, **more: Any) -> dict[str, Any]:
    return {
        "topic": topic,
        "physical": physical_name("acme", physical),
        "partitions": 1,
        "replication_factor": 1,
        "configs": {},
        "access": None,
    } | more


def test_topics_are_created_listed_and_deleted(eu: Api) -> None:
    made = described("acme:eu/orders", "--eu.orders", partitions=3, configs={"retention.ms": "5"})
    wanted = {"topic": "orders", "partitions": 3, "configs": {"retention.ms": "5"}}

    answer = eu.ask("POST", f"{TOPICS}?dry_run=true", wanted)
    assert (answer.status_code, answer.json()) == (200, made | {"is_dry_run": True})
    assert eu.ask("GET", TOPICS, admin="bob").json() == {"topics": []}
    assert eu.ask("POST", TOPICS, wanted).json() == made | {"is_dry_run": False}
    assert eu.ask("GET", TOPICS, admin="bob").json() == {"topics": [made]}
    assert eu.ask("GET", "/v1/namespaces/acme/topics").json() == {"topics": []}
    assert eu.ask("GET", "/v1/namespaces/acme/topics?recursive=true").json() == {"topics": [made]}

    answer = eu.ask("DELETE", f"{TOPICS}/orders")
    assert (answer.status_code, answer.json()) == (200, made)
    assert eu.ask("DELETE", f"{TOPICS}/orders").status_code == 404


def test_configs_of_a_topic_are_altered(eu: Api) -> None:
    eu.ask("POST", TOPICS, {"topic": "orders", "configs": {"segment.bytes": "33554432"}})
    change = {"set": {"retention.ms": "5"}, "remove": ["segment.bytes"]}

    answer = eu.ask("POST", f"{TOPICS}/orders/configs", change)

    assert answer.status_code == 200
    assert answer.json() == described("acme:eu/orders", "--eu.orders", configs={"retention.ms": "5"})
    assert eu.ask("POST", f"{TOPICS}/clicks/configs", change).status_code == 404
    assert eu.ask("POST", f"{TOPICS}/orders/configs", change, admin="bob").status_code == 403


def test_a_moved_topic_is_its_owner_s(eu: Api) -> None:
    eu.backend.topics["acme"] = [physical_name("acme", "clicks")]
    move = {"source": "acme/clicks", "target": "acme:eu/c"}
    assert eu.ask("POST", "/v1/topics/move", move).status_code == 200

    assert eu.ask("GET", TOPICS).json() == {"topics": [described("acme:eu/c", "clicks")]}
    assert eu.ask("GET", "/v1/namespaces/acme/topics").json() == {"topics": []}
    assert eu.ask("POST", "/v1/namespaces/acme/topics", {"topic": "clicks"}).status_code == 409
    assert eu.ask("DELETE", f"{TOPICS}/c").status_code == 200


def test_policies_and_configs_of_the_namespace_apply(eu: Api) -> None:
    policy = {
        "topic_names": ["orders*"],
        "forced_topic_configs": [{"name": "segment.bytes", "value": 33554432}],
        "topic_configs": [{"name": "retention.ms", "max": "1h"}],
    }
    assert eu.ask("PUT", "/v1/namespaces/acme:eu/policy", policy).status_code == 200
    inherited = {"set": {"cleanup.policy": "compact", "retention.ms": "60000"}}
    assert eu.ask("POST", "/v1/namespaces/acme/configs", inherited).status_code == 200

    made = eu.ask("POST", TOPICS, {"topic": "orders"}).json()
    refused = [
        eu.ask("POST", TOPICS, {"topic": name, "configs": configs})
        for name, configs in (
            ("clicks", {}),
            ("orders1", {"retention.ms": "3600001"}),
            ("orders2", {"segment.bytes": "9"}),
            ("orders", {}),
        )
    ]

    assert made["configs"] == {
        "cleanup.policy": "compact",
        "retention.ms": "60000",
        "segment.bytes": "33554432",
    }
    assert [one.status_code for one in refused] == [409] * 4
    for one, word in zip(
        refused,
        ("topic_names of namespace acme:eu", "topic_configs", "forced_topic_configs", "TOPIC_ALREADY_EXISTS"),
        strict=True,
    ):
        assert word in one.json()["detail"]


@pytest.mark.parametrize(
    ("path", "wanted", "status", "word"),
    [
        ("acme:eu", {"topic": "a/b"}, 409, "'a/b' cannot be the name of a topic"),
        ("acme:eu", {"topic": "a" * 249}, 409, "characters at the brokers, of at most 249"),
        ("acme:eu", {"topic": ""}, 400, "topic"),
        ("acme:eu", {"topic": "a", "size": 3}, 400, "size"),
        ("acme:us", {"topic": "a"}, 404, "InvalidNamespace"),
    ],
)
def test_what_cannot_be_created_is_refused(
    eu: Api, path: str, wanted: dict[str, Any], status: int, word: str
) -> None:
    answer = eu.ask("POST", f"/v1/namespaces/{path}/topics", wanted)

    assert answer.status_code == status
    assert word in answer.text


def test_a_viewer_changes_nothing(eu: Api) -> None:
    assert eu.ask("POST", TOPICS, {"topic": "a"}, admin="bob").status_code == 403
    assert eu.ask("DELETE", f"{TOPICS}/a", admin="bob").status_code == 403

import json
from typing import Any

import pytest

from bifrost.cli.admin.api_client import ApiClient
from unit.cli.admin.conftest import Run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let the API be asked for nothing, and return what it would have been asked for."""
    found: list[Any] = []
    topic = {
        "home": "acme/orders",
        "owner": "acme:billing/orders",
        "shares": [{"place": "globex/p", "access": "read"}],
    }

    class Answer:
        def __init__(self, body: Any) -> None:
            self.body = body

    def ask(_api: ApiClient, method: str, *path: str, body: Any = None, **_more: Any) -> Answer:
        found.append((method, "/".join(path), body))
        return Answer(topic)

    def get(_api: ApiClient, *path: str, **query: Any) -> Answer:
        found.append(("GET", "/".join(path), query))
        return Answer({"topics": [topic]})

    monkeypatch.setattr(ApiClient, "ask", ask)
    monkeypatch.setattr(ApiClient, "get", get)
    return found


def test_topics_are_moved_shared_and_unshared(run: Run, asked: list[Any]) -> None:
    told = "owner acme:billing/orders\nshared to globex/p (read)\n"
    assert run("topics", "move", "acme/orders", "--to", "acme:billing") == (0, told, "")
    assert run("topics", "move", "acme/orders", "--to", "acme", "--as", "o", "--keep-name")[0] == 0
    assert run("topics", "share", "acme/orders", "--with", "globex", "--as", "p")[0] == 0
    assert run("topics", "share", "acme/orders", "--with", "globex", "--access", "read-write")[0] == 0
    assert run("topics", "unshare", "acme/orders", "--with", "globex", "--as", "p")[0] == 0

    source = {"source": "acme/orders"}
    assert asked == [
        ("POST", "topics/move", source | {"target": "acme:billing/orders", "keeps_name": False}),
        ("POST", "topics/move", source | {"target": "acme/o", "keeps_name": True}),
        ("POST", "topics/share", source | {"target": "globex/p", "access": "read"}),
        ("POST", "topics/share", source | {"target": "globex/orders", "access": "read-write"}),
        ("POST", "topics/unshare", source | {"target": "globex/p"}),
    ]


def test_topics_are_listed(run: Run, asked: list[Any]) -> None:
    assert run("topics", "list", "acme") == (
        0,
        "acme/orders\tacme:billing/orders\tglobex/p (read)\n",
        "",
    )
    assert json.loads(run("topics", "list", "--json")[1])["topics"][0]["home"] == "acme/orders"
    assert asked[0] == ("GET", "topics", {"under": "acme"})


def test_topics_are_created_and_deleted(run: Run) -> None:
    create = ("topics", "create", "acme/orders", "--partitions", "2", "--replication-factor", "1")
    told = "topic acme/orders with 2 partitions and 1 replicas\n"
    assert run(*create, "--dry-run") == (0, f"would create {told}", "")
    assert run(*create) == (0, f"created {told}", "")
    listed = json.loads(run("topics", "all", "acme", "--json")[1])["topics"]
    assert [(one["topic"], one["partitions"], one["access"]) for one in listed] == [("acme/orders", 2, None)]
    deleted = json.loads(run("topics", "delete", "acme/orders", "--json")[1])
    assert deleted["topic"] == "acme/orders"
    assert run("topics", "all", "acme") == (0, "", "")
    assert json.loads(run(*create, "--json")[1])["is_dry_run"] is False


@pytest.mark.parametrize("place", ["orders", "acme/", "/orders"])
def test_a_place_needs_a_namespace_and_a_name(run: Run, place: str) -> None:
    assert run("topics", "delete", place) == (
        2,
        "",
        f"error: {place!r}: write a namespace and a topic, such as acme:eu/orders\n",
    )


def test_configs_of_a_topic_are_shown_and_altered(run: Run) -> None:
    assert run("topics", "create", "acme/orders", "--config", "segment.bytes=33554432")[0] == 0
    shown = ("topics", "configs", "acme/orders")
    assert run(*shown) == (0, "segment.bytes\t33554432\n", "")
    assert run(*shown, "--add", "retention.ms=5", "--remove", "segment.bytes") == (0, "retention.ms\t5\n", "")
    assert json.loads(run(*shown, "--json")[1])["configs"] == {"retention.ms": "5"}
    assert run(*shown, "--add", "retention.ms") == (2, "", "error: --add 'retention.ms' is no CONFIG=VALUE\n")
    assert run("topics", "configs", "acme/none") == (1, "", "error: topic acme/none does not exist\n")

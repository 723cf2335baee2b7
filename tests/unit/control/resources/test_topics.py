from typing import Any

import pytest

from support.control.table_backend import Api
from support.physical_names import physical_name


@pytest.fixture
def world(api: Api) -> Api:
    """An API with the namespace acme:billing:eu, and the topics orders and clicks of acme."""
    api.ask("POST", "/v1/namespaces", {"name": "acme:billing:eu"})
    topics = [physical_name("acme", name) for name in ("orders", "clicks")]
    for tenant in ("acme", "globex"):
        api.backend.topics[tenant] = [*topics, physical_name("globex", "own")]
    return api


def ask(api: Api, what: str, source: str, target: str, **more: Any) -> tuple[int, Any]:
    answer = api.ask("POST", f"/v1/topics/{what}", {"source": source, "target": target} | more)
    return answer.status_code, answer.json()


def test_a_topic_is_moved_shared_and_listed(world: Api) -> None:
    moved = {"home": "acme/orders", "owner": "acme:billing:eu/orders", "shares": []}
    assert ask(world, "move", "acme/orders", "acme:billing:eu/orders") == (200, moved)
    shared = moved | {"shares": [{"place": "globex/partner", "access": "read"}]}
    assert ask(world, "share", "acme:billing:eu/orders", "globex/partner") == (200, shared)

    for query, expected in (("", [shared]), ("?under=globex", [shared]), ("?under=acme:billing", [shared])):
        assert world.ask("GET", f"/v1/topics{query}", admin="bob").json() == {"topics": expected}
    assert ask(world, "unshare", "acme:billing:eu/orders", "globex/partner") == (200, moved)
    back = {"home": "acme/orders", "owner": "acme/orders", "shares": []}
    assert ask(world, "move", "acme:billing:eu/orders", "acme/orders") == (200, back)
    assert world.ask("GET", "/v1/topics").json() == {"topics": []}


def test_a_move_may_keep_the_name(world: Api) -> None:
    _, moved = ask(world, "move", "acme/orders", "acme:billing:eu/o", keeps_name=True)

    assert moved["shares"] == [{"place": "acme/orders", "access": "read-write"}]


@pytest.mark.parametrize(
    ("what", "source", "target", "status", "word"),
    [
        ("move", "acme/missing", "acme:billing:eu/orders", 404, "topic acme/missing does not exist"),
        ("move", "acme/orders", "acme:nowhere/orders", 404, "InvalidNamespace"),
        ("move", "acme/orders", "initech/orders", 404, "InvalidNamespace"),
        ("move", "acme/orders", "acme/clicks", 409, "acme/clicks exists already"),
        ("share", "acme/orders", "globex/own", 409, "globex/own exists already"),
        ("share", "acme/orders", "globex/a/b", 409, "'a/b' cannot be the name of a topic"),
        ("share", "acme/orders", "globex", 400, "InvalidNamespace"),
        ("unshare", "acme/orders", "globex/partner", 409, "acme/orders is not shared to globex/partner"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    world: Api, what: str, source: str, target: str, status: int, word: str
) -> None:
    found, answer = ask(world, what, source, target)

    assert (found, word in answer["detail"]) == (status, True), answer


def test_a_viewer_changes_nothing(world: Api) -> None:
    body = {"source": "acme/orders", "target": "globex/partner"}

    for what in ("move", "share", "unshare"):
        assert world.ask("POST", f"/v1/topics/{what}", body, admin="bob").status_code == 403


def test_a_namespace_with_a_moved_topic_is_not_deleted(world: Api) -> None:
    ask(world, "move", "acme/orders", "acme:billing:eu/orders")

    refused = world.ask("DELETE", "/v1/namespaces/acme:billing?recursive=true")

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:bifrost:problem:in-use")
    assert "acme:billing:eu/orders" in refused.json()["detail"]

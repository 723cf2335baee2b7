import pytest

from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from support.control.table_backend import Api
from support.physical_names import physical_name


def key(name: str) -> StateKey:
    return StateKey("namespace", name)


def names(api: Api, path: str = "/v1/namespaces") -> list[str]:
    return [one["name"] for one in api.ask("GET", path).json()["namespaces"]]


def test_a_namespace_is_created_with_every_tier_on_behalf_of_its_admin(api: Api) -> None:
    answer = api.ask("POST", "/v1/namespaces", {"name": "acme:analytics:eu"})

    assert (answer.status_code, answer.json()) == (201, {"created": ["acme:analytics", "acme:analytics:eu"]})
    assert answer.headers["location"] == "/v1/namespaces/acme:analytics:eu"
    record = api.backend.table.get(key("acme:analytics:eu"))
    assert record is not None
    assert record.on_behalf_of == "Admin:alice"
    found = api.ask("GET", "/v1/namespaces/acme:analytics:eu", admin="bob")
    assert found.headers["etag"] == '"1"'
    assert found.json() == {
        "name": "acme:analytics:eu",
        "is_configured": False,
        "version": 1,
        "on_behalf_of": "Admin:alice",
        "at_ms": 1000,
    }


def test_namespaces_are_listed_below_one_or_all(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a:b"})

    assert names(api) == ["acme", "acme:a", "acme:a:b", "globex"]
    assert names(api, "/v1/namespaces?under=acme:a") == ["acme:a:b"]
    assert names(api, "/v1/namespaces?under=globex") == []


@pytest.mark.parametrize(
    ("name", "status", "word"),
    [
        ("acme:a", 409, "exists already"),
        ("initech:a", 404, "InvalidNamespace: namespace initech does not exist"),
        ("acme:a/b", 400, "InvalidNamespace"),
        ("acme::b", 400, "InvalidNamespace"),
        ("", 400, "InvalidNamespace"),
    ],
)
def test_what_cannot_be_created_is_refused_with_the_reason(
    api: Api, name: str, status: int, word: str
) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a"})

    answer = api.ask("POST", "/v1/namespaces", {"name": name})

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert word in answer.json()["detail"]
    assert answer.json()["remedy"]


def test_a_namespace_with_others_below_it_is_deleted_only_with_recursive(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a:b"})
    api.backend.topics["acme"] = [physical_name("acme", "own"), *_physical("a", "t"), *_physical("a:b", "u")]

    refused = api.ask("DELETE", "/v1/namespaces/acme:a")
    planned = api.ask("DELETE", "/v1/namespaces/acme:a?recursive=true&dry_run=true")
    assert len(api.backend.topics["acme"]) == 3
    done = api.ask("DELETE", "/v1/namespaces/acme:a?recursive=true")

    assert refused.status_code == 409
    assert "1 namespaces are nested below acme:a (acme:a:b)" in refused.json()["detail"]
    taken = {
        "namespaces": ["acme:a", "acme:a:b"],
        "topics": ["acme:a/t", "acme:a:b/u"],
        "quotas": 0,
        "acls": 0,
        "remaining": {},
    }
    assert planned.json() == {"is_dry_run": True, **taken}
    assert (done.status_code, done.json()) == (200, {"is_dry_run": False, **taken})
    assert api.backend.topics["acme"] == [physical_name("acme", "own")]
    assert names(api) == ["acme", "globex"]


def _physical(namespace: str, name: str) -> list[str]:
    from bifrost.config.name_template import NamePrefixes, NameTemplate

    return [NamePrefixes.of_tenant("acme", NameTemplate()).below(namespace.split(":")).topic + name]


def test_a_namespace_stays_while_a_topic_of_it_cannot_be_deleted(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a"})
    [topic] = api.backend.topics["acme"] = _physical("a", "t")
    api.backend.undeletable[topic] = "TOPIC_DELETION_DISABLED"

    answer = api.ask("DELETE", "/v1/namespaces/acme:a")

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:bifrost:problem:topics-remain")
    assert "acme:a/t: TOPIC_DELETION_DISABLED" in answer.json()["detail"]
    assert "acme:a" in names(api)


def test_a_topic_that_is_created_meanwhile_is_deleted_afterwards(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a"})
    api.backend.topics["acme"] = []
    api.backend.before_change.append(lambda: api.backend.topics["acme"].extend(_physical("a", "late")))

    answer = api.ask("DELETE", "/v1/namespaces/acme:a")

    assert answer.json()["topics"] == ["acme:a/late"]
    assert api.backend.topics["acme"] == []


def test_another_writer_that_was_first_is_taken_into_account(api: Api) -> None:
    api.backend.before_change.append(lambda: api.backend.put([Change(key("acme:a"), 0, {})], "Admin:other"))

    answer = api.ask("POST", "/v1/namespaces", {"name": "acme:a:b"})

    assert (answer.status_code, answer.json()) == (201, {"created": ["acme:a:b"]})


def test_a_conflict_that_does_not_end_is_told_with_versions(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a"})

    def interfere() -> None:
        version = api.backend.table.get(key("acme:a"))
        assert version is not None
        api.backend.put([Change(key("acme:a"), version.version, {})], "Admin:other")

    api.backend.before_change += [interfere] * 10

    answer = api.ask("DELETE", "/v1/namespaces/acme:a")

    assert answer.status_code == 409
    conflict = answer.json()["conflict"]
    assert conflict["key"] == "namespace:acme:a"
    assert conflict["found"] == conflict["expected"] + 1
    assert conflict["on_behalf_of"] == "Admin:other"


def test_a_deletion_may_name_the_version_that_was_seen(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a"})

    other = api.ask("DELETE", "/v1/namespaces/acme:a", headers={"If-Match": '"7"'})
    wrong = api.ask("DELETE", "/v1/namespaces/acme:a", headers={"If-Match": "seven"})
    same = api.ask("DELETE", "/v1/namespaces/acme:a", headers={"If-Match": '"1"'})

    assert (other.status_code, other.json()["conflict"]["found"]) == (412, 1)
    assert (wrong.status_code, same.status_code) == (400, 200)


def test_a_viewer_reads_and_changes_nothing(api: Api) -> None:
    assert api.ask("GET", "/v1/namespaces", admin="bob").status_code == 200
    for method, path, body in (
        ("POST", "/v1/namespaces", {"name": "acme:a"}),
        ("DELETE", "/v1/namespaces/acme", None),
    ):
        answer = api.ask(method, path, body, admin="bob")
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:bifrost:problem:forbidden")
    assert names(api) == ["acme", "globex"]


def test_a_mistyped_request_is_refused_without_its_values(api: Api) -> None:
    answer = api.ask("POST", "/v1/namespaces", {"name": 5, "token": "hunter2"})

    assert answer.status_code == 400
    assert {one["where"] for one in answer.json()["mistakes"]} == {"body.name", "body.token"}
    assert "hunter2" not in answer.text

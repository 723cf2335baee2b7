from pathlib import Path
from typing import Any

import pytest

from bifrost.state.state_change import Change
from bifrost.tenancy.acls.stored_acls import creation_of, key_of
from support.control.table_backend import Api
from support.stage.guards import allow

READ: dict[str, Any] = {
    "resource_type": "TOPIC",
    "name": "orders",
    "principal": "User:bob",
    "operation": "READ",
}
WHOLE = READ | {"pattern_type": "LITERAL", "host": "*", "permission": "ALLOW"}
RULE = {"principal": "User:ann", "operation": "READ", "resource_type": "TOPIC", "name": "given"}


def create(api: Api, *acls: dict[str, Any], namespace: str = "acme", **how: Any) -> Any:
    return api.ask("POST", "/v1/acls", {"namespace": namespace, "acls": list(acls)}, **how)


def found(api: Api, query: str = "namespace=acme") -> list[dict[str, Any]]:
    answer = api.ask("GET", f"/v1/acls?{query}", admin="bob")
    assert answer.status_code == 200, answer.text
    listed: list[dict[str, Any]] = answer.json()["acls"]
    return listed


def test_acls_are_created_described_and_deleted(api: Api) -> None:
    created = create(api, READ)

    assert (created.status_code, created.json()) == (201, {"created": [WHOLE]})
    assert found(api) == [WHOLE | {"is_configured": False, "on_behalf_of": "Admin:alice", "at_ms": 1000}]
    record = api.backend.table.get(key_of("acme", allow("READ", "orders", principal="User:bob")))
    assert record is not None
    deleted = api.ask("DELETE", "/v1/acls?namespace=acme&principal=User:bob")
    assert (deleted.status_code, deleted.json()) == (
        200,
        {"is_dry_run": False, "deleted": [WHOLE], "remaining": []},
    )
    assert found(api) == []


def test_one_that_is_there_is_no_error_and_is_not_written_again(api: Api) -> None:
    create(api, READ)

    again = create(api, READ, READ | {"name": "clicks"}, READ | {"name": "clicks"})

    assert [one["name"] for one in again.json()["created"]] == ["clicks"]
    assert len(found(api)) == 2


def test_a_namespace_has_acls_by_the_names_of_its_clients(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:eu"})
    create(api, READ, READ | {"name": "*"}, namespace="acme:eu")
    create(api, READ, READ | {"name": "*"})

    assert [one["name"] for one in found(api, "namespace=acme:eu")] == ["*", "orders"]
    assert [(one["pattern_type"], one["name"]) for one in found(api)] == [
        ("LITERAL", "*"),
        ("LITERAL", "eu:orders"),
        ("LITERAL", "orders"),
        ("PREFIXED", "eu:"),
    ]
    gone = api.ask("DELETE", "/v1/acls?namespace=acme:eu&name=*&pattern_type=LITERAL")
    assert [one["name"] for one in gone.json()["deleted"]] == ["*"]
    assert [one["name"] for one in found(api)] == ["*", "eu:orders", "orders"]


def test_a_filter_finds_what_kafkas_finds(api: Api) -> None:
    create(api, READ, READ | {"name": "ord", "pattern_type": "PREFIXED"}, READ | {"name": "clicks"})
    create(api, READ | {"operation": "WRITE", "permission": "DENY", "host": "192.0.2.1"})

    assert len(found(api, "namespace=acme&name=orders")) == 2
    assert len(found(api, "namespace=acme&name=orders&pattern_type=MATCH")) == 3
    assert [one["host"] for one in found(api, "namespace=acme&permission=DENY")] == ["192.0.2.1"]
    assert found(api, "namespace=acme&resource_type=GROUP") == []


@pytest.mark.parametrize(
    ("acl", "status", "word"),
    [
        (READ | {"principal": "bob"}, 400, "acls[0]: Could not parse principal from `bob`"),
        (READ | {"resource_type": "CLUSTER"}, 400, "The only valid name for the CLUSTER resource"),
        (READ | {"operation": "FLY"}, 400, "body.acls.0.operation"),
        (READ | {"host": "example.org"}, 400, "is no IP address"),
        (READ | {"more": 1}, 400, "body.acls.0.more"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    api: Api, acl: dict[str, Any], status: int, word: str
) -> None:
    answer = create(api, READ, acl) if status != 400 else create(api, acl)

    assert answer.status_code == status, answer.text
    assert word in answer.json()["detail"]
    assert found(api) == []


def test_all_are_created_or_none(api: Api) -> None:
    answer = create(api, READ, READ | {"principal": "bob"})

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:bifrost:problem:invalid-acl")
    assert "acls[1]" in answer.json()["detail"]
    assert found(api) == []


def test_the_cluster_is_the_tenants_and_no_namespaces(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:eu"})
    cluster = READ | {"resource_type": "CLUSTER", "name": "kafka-cluster", "operation": "ALTER"}

    assert create(api, cluster).status_code == 201
    refused = create(api, cluster, namespace="acme:eu")
    assert (refused.status_code, refused.json()["type"]) == (400, "urn:bifrost:problem:invalid-acl")


def test_what_the_configuration_has_is_shown_and_stays(tmp_path: Path) -> None:
    api = Api(tmp_path, tenant={"acls": {"rules": [RULE], "max_stored": 1}})
    create(api, READ)

    assert [(one["name"], one["is_configured"]) for one in found(api)] == [("given", True), ("orders", False)]
    assert api.ask("GET", "/v1/acls?namespace=acme").json()["is_enforced"] is True
    assert api.ask("GET", "/v1/acls?namespace=globex").json()["is_enforced"] is False
    answer = api.ask("DELETE", "/v1/acls?namespace=acme&operation=READ").json()
    assert [one["name"] for one in answer["deleted"]] == ["orders"]
    assert [(one["name"], one["reason"]) for one in answer["remaining"]] == [
        ("given", "The ACL is in the gateway's configuration, and only its operator can remove it.")
    ]


def test_a_tenant_has_at_most_so_many(tmp_path: Path) -> None:
    api = Api(tmp_path, tenant={"acls": {"max_stored": 1}})

    answer = create(api, READ, READ | {"name": "clicks"})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:bifrost:problem:invalid-acl")
    assert "A tenant may have at most 1 ACLs." in answer.json()["detail"]


def test_a_dry_run_deletes_nothing(api: Api) -> None:
    create(api, READ)

    answer = api.ask("DELETE", "/v1/acls?namespace=acme&name=orders&dry_run=true").json()

    assert (answer["is_dry_run"], len(answer["deleted"]), len(found(api))) == (True, 1, 1)


def test_all_acls_of_a_namespace_are_not_deleted_by_a_filter_that_says_nothing(api: Api) -> None:
    create(api, READ)

    answer = api.ask("DELETE", "/v1/acls?namespace=acme")

    assert answer.status_code == 400
    assert len(found(api)) == 1


def test_only_what_is_as_it_was_seen_is_changed(api: Api) -> None:
    seen = api.ask("GET", "/v1/acls?namespace=acme").headers["etag"]
    after = create(api, READ, headers={"If-Match": seen})
    assert (after.status_code, after.headers["etag"]) == (
        201,
        api.ask("GET", "/v1/acls?namespace=acme").headers["etag"],
    )

    late = create(api, READ | {"name": "clicks"}, headers={"If-Match": seen})
    deletion = api.ask("DELETE", "/v1/acls?namespace=acme&name=orders", headers={"If-Match": seen})

    assert (late.status_code, late.json()["type"]) == (412, "urn:bifrost:problem:not-as-seen")
    assert deletion.status_code == 412
    assert "the ACLs of acme have changed" in late.json()["detail"]
    assert [one["name"] for one in found(api)] == ["orders"]


def test_what_changes_at_the_last_moment_is_not_as_it_was_seen(api: Api) -> None:
    seen = api.ask("GET", "/v1/acls?namespace=acme").headers["etag"]
    other = allow("READ", "other")
    api.backend.before_change.append(lambda: api.backend.put([creation_of("acme", other)], "User:eve"))

    assert create(api, READ, headers={"If-Match": seen}).status_code == 412
    assert [one["name"] for one in found(api)] == ["other"]


def test_another_writer_that_was_first_is_taken_into_account(api: Api) -> None:
    create(api, READ)
    key = key_of("acme", allow("READ", "orders", principal="User:bob"))
    api.backend.before_change.append(lambda: api.backend.put([Change(key, 1, None)], "User:eve"))

    answer = api.ask("DELETE", "/v1/acls?namespace=acme&name=orders")

    assert (answer.status_code, answer.json()["deleted"]) == (200, [])


def test_a_viewer_changes_nothing_and_a_namespace_has_to_exist(api: Api) -> None:
    assert create(api, READ, admin="bob").status_code == 403
    assert api.ask("DELETE", "/v1/acls?namespace=acme&name=orders", admin="bob").status_code == 403
    for namespace in ("acme:no", "initech"):
        assert create(api, READ, namespace=namespace).status_code == 404
        assert api.ask("GET", f"/v1/acls?namespace={namespace}").status_code == 404


def test_a_record_that_is_no_acl_is_not_shown(api: Api) -> None:
    api.backend.put([Change(key_of("acme", allow("READ", "x")), 0, {"name": "y"})])

    assert found(api) == []


def test_a_namespace_below_is_a_resource(api: Api) -> None:
    api.ask("POST", "/v1/namespaces", {"name": "acme:a:eu"})
    namespace = READ | {"resource_type": "NAMESPACE", "name": "eu"}

    created = create(api, namespace, namespace="acme:a")

    assert created.json() == {"created": [WHOLE | {"resource_type": "NAMESPACE", "name": "eu"}]}
    assert api.backend.table.get(key_of("acme", allow("READ", "a:eu:", principal="User:bob"))) is not None
    assert [(one["resource_type"], one["name"]) for one in found(api)] == [("NAMESPACE", "a:eu")]
    assert found(api, "namespace=acme:a:eu") == []  # It stands in the one above.
    query = "namespace=acme&resource_type=NAMESPACE"
    assert api.ask("GET", f"/v1/acls?{query}").status_code == 400
    assert len(api.ask("DELETE", f"/v1/acls?{query}&name=a:eu").json()["deleted"]) == 1
    assert found(api) == []


def test_a_namespace_is_named_whole(api: Api) -> None:
    for wrong in ({"name": "a/b"}, {"name": "eu:"}, {"name": "eu", "pattern_type": "PREFIXED"}):
        assert create(api, READ | {"resource_type": "NAMESPACE"} | wrong).status_code == 400


def test_dotted_tiers_have_no_acls_of_namespaces(tmp_path: Path) -> None:
    api = Api(tmp_path, tenant={"namespace_encoding": "dotted"})

    answer = create(api, READ | {"resource_type": "NAMESPACE", "name": "eu"})

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:bifrost:problem:invalid-acl")

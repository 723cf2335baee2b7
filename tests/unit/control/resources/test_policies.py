"""Policies of namespaces by the API; brokers are in tests/kafka/control."""

from pathlib import Path

import pytest

from bifrost.control.clusters.topic_state import TopicState
from bifrost.state.state_change import Change
from support.control.table_backend import Api
from support.physical_names import physical_name

POLICY = {"topic_names": ["orders*"], "max_topics": 5}


@pytest.fixture
def eu(api: Api) -> Api:
    assert api.ask("POST", "/v1/namespaces", {"name": "acme:eu"}).status_code == 201
    return api


def test_a_policy_is_set_read_and_deleted(eu: Api) -> None:
    answer = eu.ask("PUT", "/v1/namespaces/acme:eu/policy", POLICY)
    assert answer.status_code == 200
    assert answer.json() == {
        "namespace": "acme:eu",
        "policy": POLICY,
        "configured": None,
        "version": 1,
        "on_behalf_of": "Admin:alice",
        "is_dry_run": False,
        "violations": [],
        "violation_count": 0,
    }

    read = eu.ask("GET", "/v1/namespaces/acme:eu/policy", admin="bob")
    assert (read.json()["policy"], read.headers["etag"]) == (POLICY, '"1"')
    gone = eu.ask("DELETE", "/v1/namespaces/acme:eu/policy")
    assert (gone.status_code, gone.json()["policy"]) == (200, None)


def test_the_topics_that_do_not_keep_to_it_are_told_and_a_dry_run_changes_nothing(eu: Api) -> None:
    tenant = physical_name("acme", "--eu.")
    eu.backend.topics["acme"] = [tenant + "orders", tenant + "clicks", physical_name("acme", "outside")]
    eu.backend.states[tenant + "clicks"] = TopicState(3, 1, {})

    answer = eu.ask("PUT", "/v1/namespaces/acme:eu/policy?dry_run=true", POLICY).json()

    assert (answer["is_dry_run"], answer["policy"], answer["version"]) == (True, POLICY, None)
    assert [(one["topic"], one["key"]) for one in answer["violations"]] == [("acme:eu/clicks", "topic_names")]
    assert "allows topic names that match orders*, not clicks" in answer["violations"][0]["message"]
    assert eu.ask("GET", "/v1/namespaces/acme:eu/policy").json()["policy"] is None


def test_a_policy_that_cannot_hold_is_refused(eu: Api) -> None:
    wrong = {"min_replication_factor": 3, "max_replication_factor": 1}
    assert eu.ask("PUT", "/v1/namespaces/acme:eu/policy", wrong).status_code == 400
    assert eu.ask("PUT", "/v1/namespaces/acme:eu/policy", {"topics": 1}).status_code == 400


def test_a_namespace_that_does_not_exist_has_no_policy(api: Api) -> None:
    for method in ("GET", "PUT", "DELETE"):
        answer = api.ask(method, "/v1/namespaces/acme:us/policy", POLICY if method == "PUT" else None)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:bifrost:problem:invalid-namespace")


def test_a_viewer_sets_none(eu: Api) -> None:
    assert eu.ask("PUT", "/v1/namespaces/acme:eu/policy", POLICY, admin="bob").status_code == 403
    assert eu.ask("DELETE", "/v1/namespaces/acme:eu/policy", admin="bob").status_code == 403


def test_of_two_versions_that_were_seen_only_the_newest_is_replaced(eu: Api) -> None:
    path = "/v1/namespaces/acme:eu/policy"
    eu.ask("PUT", path, POLICY)
    eu.ask("PUT", path, POLICY)

    assert eu.ask("PUT", path, POLICY, headers={"If-Match": '"1"'}).status_code in (409, 412)
    assert eu.ask("PUT", path, POLICY, headers={"If-Match": '"2"'}).status_code == 200


def test_a_policy_of_the_configuration_is_shown_beside_it(tmp_path: Path) -> None:
    api = Api(tmp_path, tenant={"namespace_policies": [{"namespace": "eu", "max_topics": 3}]})
    api.ask("PUT", "/v1/namespaces/acme:eu/policy", POLICY)

    found = api.ask("GET", "/v1/namespaces/acme:eu/policy").json()

    assert (found["configured"], found["policy"]) == ({"max_topics": 3}, POLICY)


def test_a_policy_ends_with_its_namespace(eu: Api) -> None:
    eu.ask("PUT", "/v1/namespaces/acme:eu/policy", POLICY)
    assert eu.ask("DELETE", "/v1/namespaces/acme:eu").status_code == 200
    eu.ask("POST", "/v1/namespaces", {"name": "acme:eu"})

    assert eu.ask("GET", "/v1/namespaces/acme:eu/policy").json()["policy"] is None


def test_a_namespace_that_is_deleted_meanwhile_gets_none(eu: Api) -> None:
    def delete_first() -> None:
        eu.backend.before_change.clear()
        record = next(one for one in eu.backend.table.of_kind("namespace"))
        eu.backend.put([Change(record.key, record.version, None)])

    eu.backend.before_change.append(delete_first)
    answer = eu.ask("PUT", "/v1/namespaces/acme:eu/policy", POLICY)

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:bifrost:problem:invalid-namespace")

"""Configs by namespace by the API; brokers are in tests/kafka/control."""

import pytest

from bifrost.control.clusters.topic_state import TopicState
from support.control.table_backend import Api
from support.physical_names import physical_name

PATH = "/v1/namespaces/acme:eu/configs"
PREFIX = physical_name("acme", "--eu.")


@pytest.fixture
def eu(api: Api) -> Api:
    assert api.ask("POST", "/v1/namespaces", {"name": "acme:eu"}).status_code == 201
    api.backend.topics["acme"] = [PREFIX + name for name in ("other", "plain", "same")]
    api.backend.states[PREFIX + "other"] = TopicState(1, 1, {"retention.ms": "7"})
    api.backend.states[PREFIX + "same"] = TopicState(1, 1, {"retention.ms": "1000"})
    return api


def at_the_broker(api: Api) -> dict[str, str | None]:
    return {
        name: api.backend.states.get(PREFIX + name, TopicState(1, 1, {})).configs.get("retention.ms")
        for name in ("other", "plain", "same")
    }


def test_a_config_is_set_and_reaches_the_topics_without_their_own(eu: Api) -> None:
    answer = eu.ask("POST", PATH, {"set": {"retention.ms": "+1000"}}).json()

    assert answer["configs"] == {"retention.ms": "1000"}
    assert answer["changed"] == [
        {
            "topic": "acme:eu/plain",
            "config": "retention.ms",
            "found": None,
            "wanted": "1000",
            "namespace": "acme:eu",
        }
    ]
    assert [one["topic"] for one in answer["overriding"]] == ["acme:eu/other", "acme:eu/same"]
    assert at_the_broker(eu) == {"other": "7", "plain": "1000", "same": "1000"}

    answer = eu.ask("POST", PATH, {"set": {"retention.ms": "2000"}}).json()
    assert ([one["topic"] for one in answer["changed"]], answer["errors"]) == (["acme:eu/plain"], {})
    assert at_the_broker(eu) == {"other": "7", "plain": "2000", "same": "1000"}

    answer = eu.ask("POST", PATH, {"remove": ["retention.ms"]}).json()
    assert answer["configs"] == {}
    assert at_the_broker(eu) == {"other": "7", "plain": None, "same": "1000"}


def test_a_dry_run_changes_nothing(eu: Api) -> None:
    before = at_the_broker(eu)

    answer = eu.ask("POST", f"{PATH}?dry_run=true", {"set": {"retention.ms": "1000"}}).json()

    assert (answer["is_dry_run"], answer["configs"]) == (True, {})
    assert [one["topic"] for one in answer["changed"]] == ["acme:eu/plain"]
    assert [one["topic"] for one in answer["overriding"]] == ["acme:eu/other", "acme:eu/same"]
    assert (at_the_broker(eu), len(list(eu.backend.table.of_kind("namespace-config")))) == (before, 0)


def test_topics_inherit_from_above_and_the_report_says_who_does(eu: Api) -> None:
    eu.ask("POST", "/v1/namespaces/acme/configs", {"set": {"retention.ms": "3"}})

    found = eu.ask("GET", PATH, admin="bob").json()
    assert (found["configs"], found["version"]) == ({}, None)
    assert found["inherited"] == {"retention.ms": {"value": "3", "namespace": "acme"}}
    report = eu.ask("GET", f"{PATH}/report", admin="bob").json()
    assert (report["changed"], report["unchanged_count"]) == ([], 1)
    assert [one["topic"] for one in report["overriding"]] == ["acme:eu/other", "acme:eu/same"]


def test_a_topic_that_could_not_be_changed_is_told(eu: Api) -> None:
    eu.backend.unalterable[PREFIX + "plain"] = "INVALID_CONFIG"

    answer = eu.ask("POST", PATH, {"set": {"retention.ms": "1000"}}).json()

    assert answer["errors"] == {"acme:eu/plain": "INVALID_CONFIG"}


@pytest.mark.parametrize(
    ("config", "value", "says"),
    [
        ("retention.min", "1", "no topic config retention.min"),
        ("retention.ms", "long", "retention.ms is a number"),
        ("segment.ms", "1", "Invalid value 1 for configuration segment.ms"),
    ],
)
def test_what_the_tenant_may_not_set_its_namespace_may_not_have(
    eu: Api, config: str, value: str, says: str
) -> None:
    answer = eu.ask("POST", PATH, {"set": {config: value}})

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:bifrost:problem:invalid-config")
    assert says in answer.json()["detail"]


def test_only_an_operator_sets_configs_and_only_of_what_exists(eu: Api) -> None:
    assert eu.ask("POST", PATH, {"set": {"retention.ms": "1"}}, admin="bob").status_code == 403
    for method, path in (("GET", ""), ("GET", "/report"), ("POST", "")):
        body = {"set": {"retention.ms": "1"}} if method == "POST" else None
        assert eu.ask(method, f"/v1/namespaces/acme:us/configs{path}", body).status_code == 404


def test_configs_end_with_their_namespace(eu: Api) -> None:
    eu.ask("POST", PATH, {"set": {"retention.ms": "1000"}})
    assert len(list(eu.backend.table.of_kind("topic-config"))) == 1
    assert eu.ask("DELETE", "/v1/namespaces/acme:eu").status_code == 200

    assert [len(list(eu.backend.table.of_kind(kind))) for kind in ("namespace-config", "topic-config")] == [
        0,
        0,
    ]
    eu.ask("POST", "/v1/namespaces", {"name": "acme:eu"})
    assert eu.ask("GET", PATH).json()["configs"] == {}

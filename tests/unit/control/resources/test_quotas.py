from pathlib import Path
from typing import Any

import pytest

from bifrost.state.state_change import Change
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_record import quota_key
from support.control.table_backend import Api

RATE = "producer_byte_rate"


def alter(api: Api, entity: dict[str, Any], values: dict[str, Any], *, admin: str = "alice") -> Any:
    body = {"namespace": "acme", "alterations": [{"entity": entity, "values": values}]}
    return api.ask("POST", "/v1/quotas", body, admin=admin)


def test_quotas_are_set_changed_and_removed_key_by_key(api: Api) -> None:
    alter(api, {"user": "bob"}, {RATE: 1024, "request_percentage": 50})
    answer = alter(api, {"user": "bob"}, {RATE: None, "consumer_byte_rate": 10})

    expected = {
        "entity": {"user": "bob"},
        "values": {"consumer_byte_rate": 10.0, "request_percentage": 50.0},
        "version": 2,
        "on_behalf_of": "Admin:alice",
    }
    listed = {"namespace": "acme", "quotas": [expected]}
    changed = {"is_dry_run": False, "changed": [{"user": "bob"}]}
    assert (answer.status_code, answer.json()) == (200, {**listed, **changed})
    assert api.ask("GET", "/v1/quotas?namespace=acme", admin="bob").json() == listed
    alter(api, {"user": "bob"}, {"consumer_byte_rate": None, "request_percentage": None})
    assert api.ask("GET", "/v1/quotas?namespace=acme").json()["quotas"] == []


def test_a_null_name_is_the_default(api: Api) -> None:
    answer = alter(api, {"user": None, "client-id": "etl"}, {RATE: 1})

    assert answer.json()["quotas"][0]["entity"] == {"user": None, "client-id": "etl"}
    [record] = api.backend.table.of_kind("quota")
    assert record.key.name == "acme/users/<default>/clients/etl"
    assert record.body == {"values": {RATE: 1.0}}


@pytest.mark.parametrize(
    ("entity", "values", "word"),
    [
        ({"user": "bob"}, {"no_key": 1}, "alterations[0]: Invalid configuration key no_key"),
        ({"user": "bob"}, {RATE: 0}, "must be greater than 0"),
        ({"user": "bob"}, {RATE: 1.5}, "cannot be a fractional value"),
        ({"ip": "10.0.0.1"}, {RATE: 1}, "Unhandled client quota entity type: ip"),
        ({"user": ""}, {RATE: 1}, "Empty user not supported"),
        ({}, {RATE: 1}, "Invalid empty client quota entity"),
        ({"user": "b" * 2000}, {RATE: 1}, "names of the client quota entity are too long"),
    ],
)
def test_what_kafka_refuses_is_refused_in_its_words(
    api: Api, entity: dict[str, Any], values: dict[str, Any], word: str
) -> None:
    answer = alter(api, entity, values)

    assert (answer.status_code, answer.json()["type"]) == (400, "urn:bifrost:problem:invalid-quota")
    assert word in answer.json()["detail"]
    assert len(api.backend.table) == 0


def test_of_several_alterations_all_are_made_or_none(api: Api) -> None:
    good, bad = (
        {"entity": {"user": "a"}, "values": {RATE: 1}},
        {"entity": {"user": "b"}, "values": {RATE: -1}},
    )

    refused = api.ask("POST", "/v1/quotas", {"namespace": "acme", "alterations": [good, bad]})
    twice = api.ask("POST", "/v1/quotas", {"namespace": "acme", "alterations": [good, good]})

    assert (refused.status_code, twice.status_code) == (400, 400)
    assert "alterations[1]" in refused.json()["detail"]
    assert "is there twice" in twice.json()["detail"]
    assert len(api.backend.table) == 0


def test_a_namespace_has_to_exist(api: Api) -> None:
    body = {"namespace": "acme:no", "alterations": [{"entity": {"user": "a"}, "values": {RATE: 1}}]}

    assert api.ask("POST", "/v1/quotas", body).status_code == 404
    assert api.ask("GET", "/v1/quotas?namespace=acme:no").status_code == 404


def test_a_viewer_sets_nothing(api: Api) -> None:
    assert alter(api, {"user": "a"}, {RATE: 1}, admin="bob").status_code == 403


def test_a_client_that_was_first_keeps_its_key(api: Api) -> None:
    key = quota_key("acme", QuotaEntity("bob"))
    other = Change(key, 0, {"values": {"request_percentage": 7.0}})
    api.backend.before_change.append(lambda: api.backend.put([other], "User:bob"))

    answer = alter(api, {"user": "bob"}, {RATE: 1})

    assert answer.json()["quotas"][0]["values"] == {RATE: 1.0, "request_percentage": 7.0}


def test_nothing_is_written_when_nothing_changes(api: Api) -> None:
    alter(api, {"user": "bob"}, {RATE: 1})
    answer = alter(api, {"user": "bob"}, {RATE: 1})

    assert answer.json()["quotas"][0]["version"] == 1


def test_nothing_above_what_the_configuration_gives_is_set(tmp_path: Path) -> None:
    api = Api(tmp_path, tenant={"quotas": {"each_user": {RATE: 2048}}})

    refused = alter(api, {"user": "bob"}, {RATE: 4096})
    allowed = alter(api, {"user": "bob"}, {RATE: 1024})

    assert (refused.status_code, allowed.status_code) == (409, 200)
    assert "2048" in refused.json()["detail"]


def test_only_what_is_as_it_was_seen_is_changed(api: Api) -> None:
    seen = api.ask("GET", "/v1/quotas?namespace=acme").headers["etag"]
    body = {"namespace": "acme", "alterations": [{"entity": {"user": "bob"}, "values": {RATE: 1}}]}
    first = api.ask("POST", "/v1/quotas", body, headers={"If-Match": seen})
    assert first.status_code == 200

    late = api.ask("POST", "/v1/quotas", body, headers={"If-Match": seen})
    right = api.ask("POST", "/v1/quotas", body, headers={"If-Match": first.headers["etag"]})

    assert (late.status_code, late.json()["type"]) == (412, "urn:bifrost:problem:not-as-seen")
    assert (right.status_code, right.json()["changed"]) == (200, [])


def test_what_changes_at_the_last_moment_is_not_as_it_was_seen(api: Api) -> None:
    seen = api.ask("GET", "/v1/quotas?namespace=acme").headers["etag"]
    other = Change(quota_key("acme", QuotaEntity("eve")), 0, {"values": {"request_percentage": 7.0}})
    api.backend.before_change.append(lambda: api.backend.put([other], "User:eve"))
    body = {"namespace": "acme", "alterations": [{"entity": {"user": "bob"}, "values": {RATE: 1}}]}

    assert api.ask("POST", "/v1/quotas", body, headers={"If-Match": seen}).status_code == 412
    assert len(api.ask("GET", "/v1/quotas?namespace=acme").json()["quotas"]) == 1


def test_a_dry_run_says_what_would_change_and_changes_nothing(api: Api) -> None:
    body = {"namespace": "acme", "alterations": [{"entity": {"user": "bob"}, "values": {RATE: 1}}]}

    answer = api.ask("POST", "/v1/quotas?dry_run=true", body).json()

    assert answer == {"namespace": "acme", "quotas": [], "is_dry_run": True, "changed": [{"user": "bob"}]}
    refused = {"namespace": "acme", "alterations": [{"entity": {"user": "bob"}, "values": {RATE: -1}}]}
    assert api.ask("POST", "/v1/quotas?dry_run=true", refused).status_code == 400


def test_a_whole_namespace_has_quotas_of_operators_only(tmp_path: Path) -> None:
    api = Api(tmp_path, tenant={"quotas": {RATE: 4096}})

    assert alter(api, {"namespace": None}, {RATE: 8192}).status_code == 409
    answer = alter(api, {"namespace": None}, {RATE: 2048})

    assert answer.json()["quotas"][0]["entity"] == {"namespace": None}
    [record] = api.backend.table.of_kind("quota")
    assert record.key.name == "acme/namespace"
    assert alter(api, {"namespace": "acme"}, {RATE: 1}).status_code == 400
    assert alter(api, {"namespace": None, "user": "a"}, {RATE: 1}).status_code == 400
    assert alter(api, {"user": "bob"}, {RATE: 4096}).status_code == 409  # above the whole

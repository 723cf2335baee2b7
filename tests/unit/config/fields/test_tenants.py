from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.tenants import Credential, Tenant
from bifrost.config.name_template import NamePrefixes
from bifrost.config.secrets import Secret
from support.physical_names import prefix_of


def credential(**more: Any) -> dict[str, Any]:
    return {"username": "alice", "password_file": "alice.password", **more}


def account(mechanism: str = "PLAIN", **more: str) -> dict[str, str]:
    return {"mechanism": mechanism, **more}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "has no password: add password_file, or scram_file"),
        ({"password_file": "a", "scram_file": "b"}, "has both password_file and scram_file: remove one"),
    ],
)
def test_a_user_has_exactly_one_file(files: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        Credential.model_validate({"username": "alice", **files})

    assert Credential.model_validate({"username": "alice", "scram_file": "b"}).password_file is None


@pytest.mark.parametrize("allowed", [[], None])
def test_an_empty_list_of_topics_is_refused_and_none_means_any(allowed: list[str] | None) -> None:
    """An empty list must not give a tenant every name."""
    data = {"name": "acme", "allowed_topics": allowed}

    if allowed is None:
        assert Tenant.model_validate(data).allowed_topics is None
    else:
        with pytest.raises(ValidationError, match="allowed_topics"):
            Tenant.model_validate(data)


def test_a_tenant_may_delete_nothing_unless_it_is_said() -> None:
    tenant = Tenant.model_validate({"name": "acme"})

    assert tenant.allow_topic_deletion is False
    assert tenant.auth.credentials == ()
    assert tenant.auth.principals == ()


OURS = prefix_of("acme")


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        ({"topic": "t1-"}, ("t1-", OURS, OURS)),
        ({"group": "g1-"}, (OURS, "g1-", OURS)),
        ({"transactional_id": "x1-"}, (OURS, OURS, "x1-")),
        ({"topic": "t1-", "group": "g1-"}, ("t1-", "g1-", OURS)),
        ({"topic": "t1-", "group": "g1-", "transactional_id": "x1-"}, ("t1-", "g1-", "x1-")),
    ],
)
def test_a_kind_without_a_prefix_of_its_own_has_the_default_one(
    prefixes: dict[str, str], expected: tuple[str, str, str]
) -> None:
    tenant = Tenant.model_validate({"name": "acme", "prefixes": prefixes})

    assert tenant.name_prefixes == NamePrefixes(*expected)


def test_a_section_of_prefixes_has_one_at_least() -> None:
    with pytest.raises(ValidationError, match="has no prefix"):
        Tenant.model_validate({"name": "acme", "prefixes": {}})


def test_a_tenants_accounts_are_its_own_and_those_of_its_users() -> None:
    tenant = Tenant.model_validate(
        {
            "name": "acme",
            "upstream_sasl": account(username="acme-at-kafka"),
            "auth": {
                "credentials": [
                    credential(upstream_sasl=account("OAUTHBEARER", client_id="alice-client")),
                    credential(username="bob"),
                ]
            },
        }
    )

    assert tenant.upstream_accounts == ("acme-at-kafka", "alice-client")
    assert Tenant.model_validate({"name": "globex"}).upstream_accounts == ()


def test_a_password_is_not_shown() -> None:
    user = Credential.model_validate(credential(password=Secret(b"hunter2")))

    assert "hunter2" not in repr(user)


@pytest.mark.parametrize("allowed", [None, ["orders", "bad"], ["orders", "eu:bad"]])
def test_a_topic_of_quarantine_is_one_of_the_list_if_there_is_one(allowed: list[str] | None) -> None:
    config = {"registry_url": "http://registry", "quarantine_topic": "bad"}
    tenant = {"name": "acme", "auth": {"credentials": [credential()]}}
    filters = [{"name": "SchemaValidator", "config": config}]

    assert Tenant.model_validate(tenant | {"allowed_topics": allowed, "filters": filters}).filters
    with pytest.raises(
        ValidationError, match="quarantine_topic bad of SchemaValidator is not in allowed_topics"
    ):
        Tenant.model_validate(tenant | {"allowed_topics": ["orders", "bad:orders"], "filters": filters})

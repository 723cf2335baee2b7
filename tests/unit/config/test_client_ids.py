"""Whose client IDs have a prefix at the brokers, by option and by default."""

from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.model import Config
from unit.config.test_model import settings


def configured(upstream_sasl: dict[str, Any] | None, *tenants: dict[str, Any]) -> Config:
    """A configuration of tenants a, b, …, each with these keys."""
    data = settings()
    if upstream_sasl is not None:
        data["upstream"] |= {"security_protocol": "SASL_PLAINTEXT", "sasl": upstream_sasl}
    data["tenants"] = [
        {"name": name, "auth": {"principals": [name]}} | keys
        for name, keys in zip("abcdef", tenants, strict=False)
    ]
    return Config.model_validate(data)


def plain(username: str, mechanism: str = "PLAIN") -> dict[str, Any]:
    return {"mechanism": mechanism, "username": username, "password_file": "x"}


GATEWAY = plain("gateway")


def test_without_accounts_all_are_namespaced() -> None:
    assert configured(None, {}, {}).namespaced_client_ids() == {"a", "b"}


def test_so_they_are_with_the_gateway_s_account() -> None:
    assert configured(GATEWAY, {}, {}).namespaced_client_ids() == {"a", "b"}


def test_a_tenant_with_an_account_of_its_own_is_not() -> None:
    config = configured(GATEWAY, {"upstream_sasl": plain("a")}, {}, {"upstream_sasl": plain("c")})

    assert config.namespaced_client_ids() == {"b"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (plain("same"), plain("same", "SCRAM-SHA-256")),
        (plain("gateway"), plain("gateway")),
        (
            {"mechanism": "GSSAPI", "principal": "kafka@ONE.EXAMPLE"},
            {"mechanism": "GSSAPI", "principal": "kafka/host@OTHER.EXAMPLE"},
        ),
        ({"mechanism": "OAUTHBEARER", "token_file": "t"}, {"mechanism": "OAUTHBEARER", "token_file": "t"}),
        ({"mechanism": "GSSAPI"}, {"mechanism": "GSSAPI"}),
    ],
)
def test_an_account_that_others_may_have_too_is_shared(one: dict[str, Any], other: dict[str, Any]) -> None:
    config = configured(plain("admin"), {"upstream_sasl": one}, {"upstream_sasl": other})

    assert config.namespaced_client_ids() == {"a", "b"}


def test_the_gateway_s_account_is_shared_with_any_tenant_that_has_it() -> None:
    assert configured(GATEWAY, {"upstream_sasl": GATEWAY}).namespaced_client_ids() == {"a"}


def test_users_accounts_count_as_their_tenant_s() -> None:
    user = {"username": "u", "password_file": "x", "upstream_sasl": plain("b")}
    with_user = {"upstream_sasl": plain("a"), "auth": {"credentials": [user]}}

    assert configured(GATEWAY, with_user).namespaced_client_ids() == set()
    assert configured(GATEWAY, with_user, {"upstream_sasl": plain("b")}).namespaced_client_ids() == {"a", "b"}


def test_users_accounts_alone_are_not_the_tenant_s_own() -> None:
    """A client that belongs to the tenant by a token or a certificate has the gateway's account."""
    user = {"username": "u", "password_file": "x", "upstream_sasl": plain("u")}

    assert configured(GATEWAY, {"auth": {"credentials": [user]}}).namespaced_client_ids() == {"a"}


def test_an_account_of_the_same_name_elsewhere_is_another() -> None:
    data = settings()
    one = data.pop("upstream") | {"name": "one", "security_protocol": "SASL_PLAINTEXT", "sasl": GATEWAY}
    data["upstreams"] = [one, one | {"name": "two", "bootstrap": ["other:9092"]}]
    data["tenants"] = [
        {"name": name, "upstream": upstream, "upstream_sasl": plain("x"), "auth": {"principals": [name]}}
        for name, upstream in (("a", "one"), ("b", "two"))
    ]

    assert Config.model_validate(data).namespaced_client_ids() == set()


def test_the_option_goes_before_the_default() -> None:
    config = configured(
        GATEWAY, {"client_ids": "unchanged"}, {"upstream_sasl": plain("b"), "client_ids": "namespaced"}
    )

    assert config.namespaced_client_ids() == {"b"}


def test_there_are_two_options() -> None:
    with pytest.raises(ValidationError, match="client_ids"):
        configured(None, {"client_ids": "shared"})

"""What clients authenticate against, over reloads."""

import asyncio
import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.config.secrets import Secret
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers.client_authenticators import ClientAuthenticators
from bifrost.tenancy.users.stored_users import Allowance
from support.identity.passwords import proved_account
from unit.gateway.test_gateway import CONFIG


def configuration(**proxy: Any) -> dict[str, Any]:
    changed = copy.deepcopy(CONFIG)
    changed["proxy"] |= proxy
    return changed


def authenticators() -> ClientAuthenticators:
    return ClientAuthenticators(lambda: 0, b"key", Counter())


def with_user(**user: Any) -> Config:
    data = configuration()
    data["tenants"][0]["auth"]["credentials"] = [
        {"username": "alice", "password_file": "f", "password": Secret(b"hunter2"), **user}
    ]
    data["tenants"][1]["auth"]["principals"] = ["batch-jobs"]
    return Config.model_validate(data)


def test_users_and_principals_have_accounts_of_their_tenants() -> None:
    accounts = authenticators().secure(with_user(namespace="analytics:eu")).sasl.accounts

    alice = proved_account(accounts, "alice", b"hunter2")
    assert alice is not None
    assert (alice.tenant, alice.namespace, alice.is_listed) == ("acme", ("analytics", "eu"), True)
    assert proved_account(accounts, "alice", b"guess") is None
    batch = accounts.of_principal("batch-jobs")
    assert batch is not None
    assert (batch.tenant, batch.has_password) == ("globex", False)
    assert accounts.of_principal("alice") is None


def test_the_configuration_says_how_long_an_authentication_lasts() -> None:
    data = configuration()
    data["proxy"]["limits"]["max_reauth_ms"] = 60_000

    settings = authenticators().secure(Config.model_validate(data)).sasl

    assert settings.max_reauth_ms == 60_000


def test_nonces_differ_and_are_printable_without_a_comma() -> None:
    """RFC 5802: a nonce has any printable characters but the comma."""
    settings = authenticators().secure(Config.model_validate(configuration())).sasl

    nonces = {settings.new_nonce() for _ in range(100)}

    assert len(nonces) == 100
    assert all(nonce.isprintable() and "," not in nonce and len(nonce) >= 24 for nonce in nonces)


def test_counters_and_salts_of_unknown_users_outlive_a_reload() -> None:
    guard = authenticators()
    config = with_user()
    first, second = guard.secure(config).sasl, guard.secure(with_user(namespace="eu")).sasl

    assert first.outcomes is second.outcomes
    assert first.accounts is not second.accounts
    assert first.accounts._key == second.accounts._key == b"key"


def oauth(keys: Path) -> dict[str, Any]:
    return {"issuer": "i", "audience": ("kafka",), "jwks_file": str(keys), "namespace_claim": "t"}


def test_what_is_not_taken_changes_nothing(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text('{"keys": []}')
    called: list[str] = []

    async def play() -> None:
        guard = authenticators()
        first = guard.secure(Config.model_validate(configuration()))
        guard.begin()
        other = guard.secure(Config.model_validate(configuration(oauth=oauth(keys))))
        assert first.sasl.tokens is None
        assert other.sasl.tokens is not None
        # The first configuration, which fetches no keys, is still in force.
        guard.call_when_keys_are_fetched(lambda: called.append("soon"))
        await asyncio.sleep(0)
        assert called == ["soon"]
        guard.take(other)
        guard.end()

    asyncio.run(play())


def test_certificates_that_cannot_be_read_refuse_the_configuration(tmp_path: Path) -> None:
    section = oauth(tmp_path) | {"jwks_file": None, "jwks_url": "https://idp/keys"}
    section["ca_file"] = str(tmp_path / "none.pem")
    config = Config.model_validate(configuration(oauth=section))

    async def play() -> None:
        with pytest.raises(StartError, match="ca_file"):
            authenticators().secure(config)

    asyncio.run(play())


def with_stored_users(**users: Any) -> Config:
    data = configuration(state={})
    data["tenants"][0]["auth"]["credentials"] = [
        {"username": "a-lice", "password_file": "f", "password": Secret(b"hunter2")}
    ]
    if users:
        data["tenants"][0]["auth"]["stored_users"] = users
    return Config.model_validate(data)


def test_a_reload_changes_which_tenants_may_make_users() -> None:
    one = authenticators()
    one.take(one.secure(with_stored_users(name_prefix="a-", max_users=5)))
    before = one.users.allowance("acme")

    without = one.secure(with_stored_users())
    prepared = one.users.allowance("acme")
    one.take(without)

    assert before == prepared == Allowance("a-", 5, frozenset({"a-lice"}))
    assert one.users.allowance("acme") is None
    assert one.users.allowance("globex") is None

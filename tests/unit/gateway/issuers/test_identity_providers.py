"""What a reload keeps and what it makes anew."""

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest

from bifrost.authentication.accounts import Accounts
from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.issuers.identity_providers import IdentityProviders
from unit.gateway.test_gateway import CONFIG

NO_ACCOUNTS = Accounts([], key=b"key")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "keys.json"
    file.write_text('{"keys": []}')
    return file


def config(keys: Path, **oauth: Any) -> Config:
    changed = copy.deepcopy(CONFIG)
    settings = {
        "issuer": "i",
        "audience": ("kafka",),
        "jwks_file": str(keys),
        "namespace_claim": "t",
        **oauth,
    }
    changed["proxy"] = {**changed["proxy"], "oauth": settings}
    return Config.model_validate(changed)


def now_ms() -> int:
    return 0


def test_without_identity_providers_no_token_is_accepted() -> None:
    async def play() -> list[str]:
        called: list[str] = []
        none = IdentityProviders(Config.model_validate(CONFIG), now_ms)
        none.start()
        none.call_when_keys_are_fetched(lambda: called.append("soon"))
        await asyncio.sleep(0)
        none.stop()
        assert none.tokens(NO_ACCOUNTS, ["acme"]) is None
        assert none.kerberos is None
        return called

    assert asyncio.run(play()) == ["soon"]


def test_what_a_reload_does_not_change_goes_on(keys: Path) -> None:
    async def play() -> None:
        first = IdentityProviders(config(keys), now_ms)
        first.start()
        task = first._task
        same = IdentityProviders(config(keys), now_ms, first)
        same.start()
        first.stop(same)
        await asyncio.sleep(0.05)
        assert task is not None
        assert same._task is task
        assert not task.cancelled()
        same.stop()
        await asyncio.sleep(0)
        assert task.cancelled()

    asyncio.run(play())


def test_what_a_reload_changes_is_made_anew(keys: Path) -> None:
    async def play() -> None:
        first = IdentityProviders(config(keys), now_ms)
        first.start()
        other = IdentityProviders(config(keys, audience=("other",)), now_ms, first)
        other.start()
        first.stop(other)
        await asyncio.sleep(0)
        assert first._task is not None
        assert other._task is not None
        assert (first._task.cancelled(), other._task.cancelled()) == (True, False)
        assert other.tokens(NO_ACCOUNTS, ["acme"]) is not None
        other.stop()
        none = IdentityProviders(Config.model_validate(CONFIG), now_ms, other)
        assert none.tokens(NO_ACCOUNTS, ["acme"]) is None

    asyncio.run(play())


def test_clients_that_wait_for_keys_are_called_when_no_fetch_is_left(keys: Path) -> None:
    async def play() -> list[str]:
        called: list[str] = []
        first = IdentityProviders(config(keys), now_ms)
        first.start()
        await asyncio.sleep(0)
        first.call_when_keys_are_fetched(lambda: called.append("over"))
        first.stop()
        await asyncio.sleep(0.05)
        return called

    assert asyncio.run(play()) == ["over"]


def test_a_file_that_cannot_be_used_is_told_before_anything_changes(keys: Path) -> None:
    first = IdentityProviders(config(keys), now_ms)

    with pytest.raises(StartError, match="ca_file"):
        IdentityProviders(config(keys, ca_file=str(keys)), now_ms, first)

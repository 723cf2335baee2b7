"""The transit engine of a real Vault."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

from bifrost.encryption.dek import DekLimits
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.keys import dek_keeper
from bifrost.keys.dek_keeper import DekKeeper
from bifrost.keys.vault import Vault, VaultSettings
from support.encryption.real_vault import ask, new_key, vault_address

DEK = bytes(range(100, 132))
ORDERS, OTHERS = DekContext("cluster", "orders"), DekContext("cluster", "others")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with vault_address() as found:
        yield found


@pytest.fixture
def key(address: str) -> str:
    """Return the name of a new key."""
    return new_key(address)


def token_for(address: str, path: Path, key: str, *verbs: str) -> Path:
    """Write a token that may do so much with a key."""
    policy = "\n".join(f'path "transit/{verb}/{key}" {{ capabilities = ["update"] }}' for verb in verbs)
    name = uuid.uuid4().hex[:8]
    ask(address, "PUT", f"sys/policies/acl/{name}", {"policy": policy})
    answer = ask(address, "POST", "auth/token/create", {"policies": [name], "ttl": "10m"})
    file = path / f"token-{name}"
    file.write_text(answer["auth"]["client_token"])
    return file


def vault(address: str, tmp_path: Path, key: str, *verbs: str) -> Vault:
    token = token_for(address, tmp_path, key, *(verbs or ("encrypt", "decrypt")))
    return Vault(VaultSettings(address, key, token))


def test_a_dek_is_unwrapped_as_it_was_wrapped(address: str, tmp_path: Path, key: str) -> None:
    provider = vault(address, tmp_path, key)
    wrapped = provider.wrap(DEK, ORDERS)

    assert (wrapped.kek, wrapped.kek_version) == (f"vault:transit/{key}", 1)
    assert base64.b64encode(DEK) not in wrapped.wrapped
    assert provider.unwrap(wrapped, ORDERS) == DEK


def test_vault_itself_unwraps_it_for_its_topic_alone(address: str, tmp_path: Path, key: str) -> None:
    provider = vault(address, tmp_path, key)
    wrapped = provider.wrap(DEK, ORDERS)

    for context in (OTHERS, DekContext("other", "orders")):
        with pytest.raises(UnknownKek):
            provider.unwrap(wrapped, context)
    with pytest.raises(UnknownKek):
        provider.unwrap(wrapped._replace(wrapped=wrapped.wrapped[:-4] + b"AAA="), ORDERS)


def test_a_rotated_key_wraps_anew_and_unwraps_what_is_old(address: str, tmp_path: Path, key: str) -> None:
    provider = vault(address, tmp_path, key)
    old = provider.wrap(DEK, ORDERS)
    ask(address, "POST", f"transit/keys/{key}/rotate", {})
    new = provider.wrap(DEK, ORDERS)

    assert (old.kek_version, new.kek_version) == (1, 2)
    assert [provider.unwrap(one, ORDERS) for one in (old, new)] == [DEK, DEK]
    ask(address, "POST", f"transit/keys/{key}/config", {"min_decryption_version": 2})
    with pytest.raises(UnknownKek):
        provider.unwrap(old, ORDERS)
    assert provider.unwrap(new, ORDERS) == DEK


def test_a_deleted_key_opens_nothing(address: str, tmp_path: Path, key: str) -> None:
    provider = vault(address, tmp_path, key)
    wrapped = provider.wrap(DEK, ORDERS)
    ask(address, "POST", f"transit/keys/{key}/config", {"deletion_allowed": True})
    ask(address, "DELETE", f"transit/keys/{key}")

    with pytest.raises(UnknownKek):
        provider.unwrap(wrapped, ORDERS)
    with pytest.raises(KekUnavailable, match="no such key to seal with"):
        provider.wrap(DEK, ORDERS)


def test_a_token_without_the_right_may_be_given_it(address: str, tmp_path: Path, key: str) -> None:
    sealer, opener = (vault(address, tmp_path, key, verb) for verb in ("encrypt", "decrypt"))
    wrapped = sealer.wrap(DEK, ORDERS)

    assert opener.unwrap(wrapped, ORDERS) == DEK
    with pytest.raises(KekUnavailable, match="refuses the token"):
        opener.wrap(DEK, ORDERS)
    with pytest.raises(KekUnavailable, match="refuses the token"):
        sealer.unwrap(wrapped, ORDERS)


def test_a_mistyped_key_is_not_made(address: str, tmp_path: Path) -> None:
    name = f"mistyped-{uuid.uuid4().hex[:8]}"
    provider = vault(address, tmp_path, name)

    with pytest.raises(KekUnavailable, match="no such key to seal with"):
        provider.wrap(DEK, ORDERS)
    with pytest.raises(HTTPError):
        ask(address, "GET", f"transit/keys/{name}")


def test_deks_of_a_keeper_come_from_vault_and_follow_its_rotation(
    address: str, tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dek_keeper, "forbid_core_dumps", lambda: None)
    clock = [0]
    provider = vault(address, tmp_path, key)
    writer, reader = (DekKeeper(lambda: clock[0], limits=DekLimits(max_age_ms=1_000)) for _ in range(2))
    first = writer.writing(provider, ORDERS)
    ask(address, "POST", f"transit/keys/{key}/rotate", {})
    assert writer.writing(provider, ORDERS) is first
    clock[0] = 1_000
    second = writer.writing(provider, ORDERS)

    assert [one.dek.wrapped.kek_version for one in (first, second)] == [1, 2]
    for one in (first, second):
        data = one.dek.cipher.encrypt(bytes(12), b"record", b"")
        assert reader.reading(provider, ORDERS, one.header).cipher.decrypt(bytes(12), data, b"") == b"record"

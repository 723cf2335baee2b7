from pathlib import Path

import pytest

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import BrokenSeal, KekUnavailable, UnknownKek
from bifrost.encryption.kek import Kek
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys.aws_kms import AwsKms
from bifrost.keys.kek_providers import KekProviders
from bifrost.keys.vault import Vault
from support.encryption.key_files import write_key_file

ORDERS = DekContext("cluster", "orders")


def test_what_a_kek_wrapped_before_is_unwrapped_by_it(tmp_path: Path) -> None:
    path = str(write_key_file(tmp_path / "keks", "new", "old", "other"))
    providers = KekProviders(Kek("file", "new", ("old",), key_file=path))
    before, other = (
        KekProviders(Kek("file", "old", key_file=path)),
        KekProviders(Kek("file", "other", key_file=path)),
    )
    wrapped, foreign = (one.writing.wrap(bytes(32), ORDERS) for one in (before, other))

    assert providers.writing.name == "file:new"
    assert providers.opening(wrapped.as_bytes()).unwrap(wrapped, ORDERS) == bytes(32)
    with pytest.raises(UnknownKek, match="file:other"):
        providers.opening(foreign.as_bytes()).unwrap(foreign, ORDERS)
    with pytest.raises(BrokenSeal):
        providers.opening(b"?")
    providers.close()


def test_vault_is_found_as_by_its_own_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("VAULT_ADDR", "VAULT_NAMESPACE", "VAULT_CACERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    vault = KekProviders(Kek("vault", "payments")).writing
    assert isinstance(vault, Vault)
    assert (vault._settings.address, vault._settings.token_file) == (
        "https://127.0.0.1:8200",
        tmp_path / ".vault-token",
    )
    monkeypatch.setenv("VAULT_ADDR", "http://vault:1")
    monkeypatch.setenv("VAULT_NAMESPACE", "team")
    told = KekProviders(Kek("vault", "payments", token_file="/token", mount="m")).writing
    assert isinstance(told, Vault)
    assert (told._settings.address, told._settings.namespace, told.name) == (
        "http://vault:1",
        "team",
        "vault:m/payments",
    )
    with pytest.raises(KekUnavailable, match="vault:payments: cannot be used"):
        KekProviders(Kek("vault", "payments", address="ftp://vault"))


def test_the_arn_of_a_key_says_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")  # Else boto3 asks the machine's metadata service.
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    arn = "arn:aws:kms:eu-north-1:123456789012:key/1"
    for kek in (Kek("aws-kms", arn), Kek("aws-kms", "alias/payments", (arn,), region="eu-north-1")):
        found = KekProviders(kek)
        assert isinstance(found.writing, AwsKms)
        assert found.writing._settings.region == "eu-north-1"
        assert found.opening(WrappedDek(f"aws-kms:{arn}", 0, b"x").as_bytes()) is found.writing


def test_another_provider_is_unknown() -> None:
    with pytest.raises(UnknownKek):
        KekProviders(Kek("pen-and-paper", "payments"))

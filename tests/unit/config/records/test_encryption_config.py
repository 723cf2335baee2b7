from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.records import encryption_config
from bifrost.config.records.encryption_config import read_instant
from bifrost.config.records.record_filter import RecordFilter

VAULT = {"kms_provider": "Vault", "key_id": "payments"}
FILE = {"kms_provider": "KeyFile", "key_id": "payments", "key_file": "keks"}


def read(config: dict[str, Any], *rules: dict[str, Any]) -> RecordFilter:
    return RecordFilter.model_validate({"name": "EnvelopeEncryption", "config": config, "rules": list(rules)})


def test_a_kms_and_a_key_are_enough() -> None:
    config = read(VAULT).config

    assert (config.mode, config.on_missing_key, config.cache_expiry_seconds) == ("batches", "fail", 600)
    assert config.plaintext_before_ms is None
    assert read(FILE, {"topics": ["orders"], "direction": "produce"}).config.key_file == "keks"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"key_id": "payments"}, "needs config.kms_provider and config.key_id"),
        ({"kms_provider": "Vault"}, "needs config.kms_provider and config.key_id"),
        ({"kms_provider": "KeyFile", "key_id": "a"}, "needs config.key_file"),
        (VAULT | {"key_file": "keks"}, "config.key_file is not for kms_provider: Vault"),
        (FILE | {"vault": {}}, "config.vault is not for kms_provider: KeyFile"),
        (VAULT | {"aws_kms": {"region": "eu"}}, "config.aws_kms is not for"),
        (VAULT | {"accept_plaintext_before": "the day before"}, "expected a date or a time"),
        (VAULT | {"require_key": True}, "config.require_key is no key of EnvelopeEncryption"),
        (VAULT | {"cache_expiry_seconds": 5}, "10"),
        (VAULT | {"mode": "fields"}, "mode: fields needs sealed_fields"),
        (VAULT | {"sealed_fields": ["a"]}, "no other mode has them"),
        (VAULT | {"mode": "fields", "sealed_fields": ["a..b"]}, "is no path"),
        (VAULT | {"sealing_key_file": "sealing"}, "sealing_key_file is for mode: values"),
    ],
)
def test_what_makes_no_sense_is_refused(config: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        read(config)


def test_it_is_for_all_clients_of_a_topic() -> None:
    with pytest.raises(ValidationError, match="have no principals"):
        read(VAULT, {"topics": ["orders"], "principals": ["User:alice"]})


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption_config, "find_spec", lambda name: None if name == "boto3" else name)

    assert read(VAULT)
    with pytest.raises(ValidationError, match=r"needs the package boto3: pip install '.\[encryption\]'"):
        read({"kms_provider": "AwsKms", "key_id": "alias/payments"})


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01T01:00:00+01:00", 0),
    ],
)
def test_a_time_without_a_zone_is_in_utc(text: str, ms: int) -> None:
    assert read_instant(text).timestamp() * 1000 == ms
    assert read(VAULT | {"accept_plaintext_before": text}).config.plaintext_before_ms == ms

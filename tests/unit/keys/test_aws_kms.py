"""With moto behind HTTP; what it does not do as AWS does is not tested with it (a disabled key, for example)."""

import base64
import logging
from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import EncryptionError, KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys.aws_kms import AwsKms, AwsKmsSettings
from support.encryption.in_thread import in_thread

DEK = bytes(range(100, 132))
ORDERS = DekContext("cluster", "orders")
REGION = "eu-central-1"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")


class Keys:
    """What an administrator of KMS does."""

    def __init__(self, endpoint: str) -> None:
        self.client = boto3.client("kms", region_name=REGION, endpoint_url=endpoint)

    def create(self, alias: str | None = None) -> str:
        def call() -> str:
            arn = str(self.client.create_key()["KeyMetadata"]["Arn"])
            if alias is not None:
                self.client.create_alias(AliasName=alias, TargetKeyId=arn)
            return arn

        return in_thread(call)


@pytest.fixture
def keys(endpoint: str) -> Keys:
    return Keys(endpoint)


def kms(endpoint: str, key_id: str, **options: object) -> AwsKms:
    return AwsKms(AwsKmsSettings(key_id, REGION, endpoint_url=endpoint, **options))  # type: ignore[arg-type]


def test_a_dek_is_unwrapped_as_it_was_wrapped(endpoint: str, keys: Keys) -> None:
    arn = keys.create()
    provider = kms(endpoint, arn)
    wrapped = in_thread(lambda: provider.wrap(DEK, ORDERS))

    assert (wrapped.kek, wrapped.kek_version) == (f"aws-kms:{arn}", 0)
    assert DEK not in wrapped.wrapped
    assert in_thread(lambda: provider.unwrap(wrapped, ORDERS)) == DEK
    provider.close()


def test_a_dek_is_unwrapped_for_its_topic_alone(endpoint: str, keys: Keys) -> None:
    provider = kms(endpoint, keys.create())
    wrapped = in_thread(lambda: provider.wrap(DEK, ORDERS))

    for context in (DekContext("cluster", "others"), DekContext("other", "orders")):
        with pytest.raises(UnknownKek, match="InvalidCiphertextException"):
            in_thread(lambda context=context: provider.unwrap(wrapped, context))  # type: ignore[misc]


def test_an_alias_wraps_by_its_key_and_that_key_is_named(endpoint: str, keys: Keys) -> None:
    arn = keys.create("alias/payments")
    provider = kms(endpoint, "alias/payments")
    wrapped = in_thread(lambda: provider.wrap(DEK, ORDERS))

    assert wrapped.kek == f"aws-kms:{arn}"
    assert in_thread(lambda: provider.unwrap(wrapped, ORDERS)) == DEK


def test_a_key_that_is_not_configured_unwraps_nothing(endpoint: str, keys: Keys) -> None:
    ours, other = keys.create(), keys.create()
    wrapped = in_thread(lambda: kms(endpoint, other).wrap(DEK, ORDERS))

    with pytest.raises(UnknownKek, match="names the KEK"):
        in_thread(lambda: kms(endpoint, ours).unwrap(wrapped, ORDERS))
    with pytest.raises(EncryptionError, match="KMS refuses"):  # AWS itself says IncorrectKeyException
        in_thread(lambda: kms(endpoint, ours.rpartition("/")[2]).unwrap(wrapped, ORDERS))
    also = kms(endpoint, ours, also_opens=[other])
    assert in_thread(lambda: also.unwrap(wrapped, ORDERS)) == DEK
    with pytest.raises(UnknownKek, match="names the KEK"):
        also.unwrap(WrappedDek("vault:transit/payments", 1, b"x"), ORDERS)


def test_a_key_that_is_not_there_and_a_spoilt_dek_are_unknown(endpoint: str, keys: Keys) -> None:
    missing = kms(endpoint, "3f0a1f5e-0000-4000-8000-000000000000")
    with pytest.raises(UnknownKek, match="NotFoundException"):
        in_thread(lambda: missing.wrap(DEK, ORDERS))
    provider = kms(endpoint, keys.create())
    wrapped = in_thread(lambda: provider.wrap(DEK, ORDERS))
    spoilt = wrapped._replace(wrapped=wrapped.wrapped[:-1] + bytes([wrapped.wrapped[-1] ^ 1]))
    with pytest.raises(UnknownKek):
        in_thread(lambda: provider.unwrap(spoilt, ORDERS))


def test_a_service_that_is_away_or_silent_may_come_back() -> None:
    away = kms("http://127.0.0.1:9", "key")
    with pytest.raises(KekUnavailable, match="EndpointConnectionError"):
        in_thread(lambda: away.wrap(DEK, ORDERS))


def test_keys_are_not_logged_even_at_debug(
    endpoint: str, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    arn = keys.create()
    with caplog.at_level(logging.DEBUG):
        provider = kms(endpoint, arn)
        in_thread(lambda: provider.unwrap(provider.wrap(DEK, ORDERS), ORDERS))

    for shown in (caplog.text, repr(provider)):
        assert base64.b64encode(DEK).decode() not in shown
        assert repr(DEK) not in shown
        assert "test-secret" not in shown

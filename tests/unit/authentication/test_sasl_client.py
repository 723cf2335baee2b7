import json

import pytest

from bifrost.authentication.sasl_client import BearerClient, LoginFailed, PlainClient
from bifrost.config.kept_secret import KeptSecret


def test_plain_is_one_token() -> None:
    client = PlainClient("gate,way=é", KeptSecret(b"p\xc3\xa4ss"))

    assert client.first() == "\0gate,way=é\0päss".encode()
    assert client.respond(b"") is None


def test_plain_ends_with_it() -> None:
    with pytest.raises(LoginFailed, match="goes on after the only token"):
        PlainClient("x", KeptSecret(b"y")).respond(b"more")


def test_a_token_is_sent_and_taken() -> None:
    client = BearerClient("aaa.bbb.ccc")

    assert client.first() == b"n,,\x01auth=Bearer aaa.bbb.ccc\x01\x01"
    assert client.respond(b"") is None
    assert client.refusal is None


@pytest.mark.parametrize(
    ("challenge", "status"),
    [
        (json.dumps({"status": "invalid_token", "scope": "x"}).encode(), "invalid_token"),
        (json.dumps({"status": "a\nb" * 100}).encode(), "ab" * 33 + "a"),
        (b'{"status": 7}', "no reason given"),
        (b"[]", "no reason given"),
        (b"\xff", "no reason given"),
        (b"[" * 10_000, "no reason given"),
    ],
)
def test_a_refusal_is_answered_by_one_byte_and_kept(challenge: bytes, status: str) -> None:
    client = BearerClient("token")

    assert client.respond(challenge) == b"\x01"
    assert client.refusal == status
    with pytest.raises(LoginFailed, match="the broker refused the token"):
        client.respond(b"")

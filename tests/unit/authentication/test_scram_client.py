"""The client of SCRAM, held against RFC 7677's own exchange and against the gateway's server."""

from base64 import b64encode

import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.sasl_client import LoginFailed
from bifrost.authentication.scram_client import MAX_ITERATIONS, SaltedPasswords, ScramClient
from bifrost.authentication.scram_server import ScramServer
from bifrost.config.fields.upstream_sasl import UpstreamMechanism
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.config.kept_secret import KeptSecret

SHA_256, SHA_512 = UpstreamMechanism.SCRAM_SHA_256, UpstreamMechanism.SCRAM_SHA_512
# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client(mechanism: UpstreamMechanism = SHA_256, username: str = "user", nonce: str = NONCE) -> ScramClient:
    return ScramClient(username, SaltedPasswords(mechanism, KeptSecret(b"pencil")), nonce)


def test_the_exchange_of_the_rfc() -> None:
    one = client()

    assert one.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert one.respond(SERVER_FIRST) == CLIENT_FINAL
    assert one.respond(SERVER_FINAL) is None
    with pytest.raises(LoginFailed, match="goes on after the end"):
        one.respond(b"")


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
@pytest.mark.parametrize("username", ["user", "a,b=c", "ümlaut"])
def test_it_is_understood_by_the_server(mechanism: UpstreamMechanism, username: str) -> None:
    theirs = Mechanism(mechanism)
    verifier = ScramVerifier.derive(theirs, b"pencil", b"salt of sixteen.", 4096)
    accounts = Accounts([Account(username, "acme", None, {theirs: verifier})], key=b"a secret")
    server = ScramServer(theirs, accounts, "server-nonce")
    one = client(mechanism, username)

    final = one.respond(server.respond(one.first()))

    assert final is not None
    assert one.respond(server.respond(final)) is None
    assert server.account is not None


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096", "nonce is not of this exchange"),
        (b"r=another,s=W22Z,i=4096", "nonce is not of this exchange"),
        (SERVER_FIRST.replace(b"4096", b"4095"), "wants 4095 SCRAM iterations; 4096 to 100000 are allowed"),
        (SERVER_FIRST.replace(b"4096", str(MAX_ITERATIONS + 1).encode()), "wants 100001 SCRAM iterations"),
        (SERVER_FIRST.replace(b"W22Z", b"="), "not base64"),
        (SERVER_FIRST.replace(b"4096", b"0"), "is malformed"),
        (SERVER_FIRST.replace(b"4096", b"99999999999"), "is malformed"),
        (b"m=x," + SERVER_FIRST, "wants an extension that is not known"),
        (b"", "is malformed"),
        (b"\xff", "is malformed"),
        (SERVER_FIRST + b",a=" + b"x" * 4096, "is too large"),
    ],
)
def test_a_first_message_that_is_not_trusted(message: bytes, expected: str) -> None:
    with pytest.raises(LoginFailed, match=expected):
        client().respond(message)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"v=" + b64encode(bytes(32)), "does not know the password: it may not be the broker"),
        (b"v=====", "not base64"),
        (b"e=invalid-proof", "wrong user name or password"),
        (b"", "final SCRAM message is malformed"),
    ],
)
def test_a_broker_that_does_not_prove_itself(message: bytes, expected: str) -> None:
    one = client()
    one.respond(SERVER_FIRST)

    with pytest.raises(LoginFailed, match=expected):
        one.respond(message)


def test_extensions_that_may_be_ignored_are() -> None:
    assert client().respond(SERVER_FIRST + b",x=1") is not None


def test_a_login_costs_its_iterations_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = SaltedPasswords(SHA_512, KeptSecret(b"pencil"))
    derived = []
    monkeypatch.setattr("hashlib.pbkdf2_hmac", lambda *args: derived.append(args) or b"salted")

    for salt, iterations in ((b"a", 4096), (b"a", 4096), (b"a", 8192), (b"b", 8192), (b"b", 8192)):
        assert passwords.derive(salt, iterations) == b"salted"

    assert [args[2:] for args in derived] == [(b"a", 4096), (b"a", 8192), (b"b", 8192)]

"""No message that a client may send before authentication takes the event loop a millisecond of CPU, at its worst.

Two do not hold to that. The check of a signature on P-384 or P-521 takes OpenSSL half a millisecond on a fast machine:
it is the issuer that chooses the curve, and budgets bound the sum, of a connection and of an address. A PLAIN password
is compared with a verifier in a thread (gateway/admission/password_checks.py).
"""

import time
from contextlib import suppress
from dataclasses import replace

import pytest

from bifrost.authentication.access_tokens import AccessTokens
from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed
from bifrost.authentication.gssapi_server import MAX_TOKEN_BYTES as MAX_GSSAPI_BYTES
from bifrost.authentication.gssapi_server import (
    ContextFailed,
    GssapiServer,
    KerberosSettings,
    SecurityContext,
)
from bifrost.authentication.json_web_keys import KeySet
from bifrost.authentication.oauthbearer_server import MAX_OTHER_BYTES, OAuthBearerServer
from bifrost.authentication.sasl_server import MAX_PLAIN_BYTES
from bifrost.authentication.scram_server import MAX_TOKEN_BYTES as MAX_SCRAM_BYTES
from bifrost.config.fields.oauth import OAuth
from bifrost.config.fields.verifiers import MAX_ITERATIONS, Mechanism, ScramVerifier
from bifrost.session.authentication import OTHER_BYTES
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import SessionEnded
from bifrost.wire.errors import WireError
from support.identity.issuer import ISSUER, Issuer, client_first, encoded, jwk_set
from support.stage import messages
from support.stage.playbook import request_frame
from support.stage.stage import PASSWORD_MECHANISMS, Stage, authenticate, handshake

BOUND_NS = 1_000_000
"""Of the CPU time of this thread alone, and the least of several tries: other processes only add to it."""
SIGNATURE_BOUND_NS = 2 * BOUND_NS
"""Where a signature alone may take half of that."""
TRIES = 15
NOW_S = 1_800_000_000.0
FLEXIBLE = b"\x00\x12\x00\x03\x00\x00\x00\x01\xff\xff"
"""The header of ApiVersions v3, without its tagged fields."""
SIZE = OTHER_BYTES
MANY_TAGS = b"\xff\x3f" + b"\x01\x00" * (SIZE // 2)
SCRAM_NAMES = ["a", "é", "\ufdfa", "\u0344\u0316", "=2C"]


def named(software: str) -> bytes:
    request = messages.ApiVersionsRequest(client_software_name=software, client_software_version="1")
    return request_frame(request, 3, 1)


FIRST_FRAMES = {
    **{
        f"ApiVersions v{version}": request_frame(messages.ApiVersionsRequest(), version, 1)
        for version in (0, 1, 2)
    },
    "a version that is not known": b"\x00\x12\x7f\xff\x00\x00\x00\x01\xff\xff" + bytes(SIZE - 10),
    "a long client ID": b"\x00\x12\x00\x00\x00\x00\x00\x01\x3f\xf0" + b"x" * (SIZE - 16) + bytes(6),
    "long software that is valid": named("a" * (SIZE - 20)),
    "long software that is not": named("a" + "-" * (SIZE - 20) + "!"),
    "software of many ends": named("a-" * (SIZE // 2 - 20) + "!"),
    "tagged fields of the header": FLEXIBLE + MANY_TAGS,
    "tagged fields of the body": FLEXIBLE + b"\x00\x02a\x021" + MANY_TAGS,
    "one large tagged field": FLEXIBLE + b"\x01\x05\xf0\x7f" + bytes(SIZE - 20),
    "a long mechanism": request_frame(handshake("x" * (SIZE - 20)), 1, 1),
    "zeros": bytes(SIZE),
    "ones": b"\xff" * SIZE,
    "another API": b"\x00\x00\x00\x03" + bytes(SIZE - 4),
}


def cost_ns(session: ClientSession, frame: bytes) -> int:
    began_ns = time.thread_time_ns()
    with suppress(SessionEnded, WireError):
        session.receive_from_client(frame)
    return time.thread_time_ns() - began_ns


def least_cost_ns(stage: Stage, frame: bytes, *before: bytes) -> int:
    """Give the cost of a frame behind others, the least of several: what else the machine does adds to it."""
    costs = []
    for _ in range(TRIES):
        session = stage.session()
        for one in before:
            session.receive_from_client(one)
        costs.append(cost_ns(session, frame))
    return min(costs)


@pytest.mark.parametrize("what", FIRST_FRAMES)
def test_a_first_message_is_cheap(what: str) -> None:
    assert least_cost_ns(Stage(mechanisms=PASSWORD_MECHANISMS), FIRST_FRAMES[what]) < BOUND_NS


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS[1:])
@pytest.mark.parametrize("name", SCRAM_NAMES)
@pytest.mark.parametrize("length", [256, 10_000])
def test_a_first_message_of_scram_is_cheap(mechanism: Mechanism, name: str, length: int) -> None:
    text = (name * length).encode()[: min(length * len(name.encode()), MAX_SCRAM_BYTES - 20)]
    token = b"n,,n=" + text.decode("utf-8", "ignore").encode() + b",r=nonce"
    hello = request_frame(handshake(mechanism), 1, 1)

    stage = Stage(mechanisms=PASSWORD_MECHANISMS)
    assert least_cost_ns(stage, request_frame(authenticate(token), 2, 2), hello) < BOUND_NS


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS[1:])
@pytest.mark.parametrize(
    "token",
    [
        b"n,,n=acme,r=nonce" + b",a=b" * 1_000,
        b"n,,n=acme,r=" + b"x" * 4_000,
        b"n," + b"a=" + b"x" * 4_000 + b",n=acme,r=nonce",
        b"n,," + b"m=" * 2_000,
        b"\xff" * MAX_SCRAM_BYTES,
        b"n" * 100_000,
    ],
)
def test_other_first_messages_of_scram_are_cheap(mechanism: Mechanism, token: bytes) -> None:
    hello = request_frame(handshake(mechanism), 1, 1)

    stage = Stage(mechanisms=PASSWORD_MECHANISMS)
    assert least_cost_ns(stage, request_frame(authenticate(token), 2, 2), hello) < BOUND_NS


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS[1:])
def test_a_final_message_of_scram_is_cheap(mechanism: Mechanism) -> None:
    hello = request_frame(handshake(mechanism), 1, 1)
    first = request_frame(authenticate(b"n,,n=acme,r=n" + b",a=b" * 900), 2, 2)
    final = request_frame(authenticate(b"c=biws,r=n" + b",a=b" * 900 + b",p=" + b"A" * 400), 2, 3)

    assert least_cost_ns(Stage(mechanisms=PASSWORD_MECHANISMS), final, hello, first) < BOUND_NS


@pytest.mark.parametrize(
    "token",
    [
        b"\0acme\0" + b"x" * (MAX_PLAIN_BYTES - 6),
        b"\0" * MAX_PLAIN_BYTES,
        b"\0" + b"x" * 4_000 + b"\0" + b"x" * 4_000,
        b"\0" * 500_000,
    ],
)
def test_a_plain_token_is_cheap(token: bytes) -> None:
    frame = request_frame(authenticate(token), 2, 2)

    assert least_cost_ns(Stage(), frame, request_frame(handshake(), 1, 1)) < BOUND_NS


@pytest.mark.parametrize("name", ["acme", "unknown"])
def test_a_plain_token_against_verifiers_is_cheap_until_its_check_runs(name: str) -> None:
    stage, password = Stage(), b"x" * (MAX_PLAIN_BYTES - 20)
    mechanism = Mechanism.SCRAM_SHA_512
    verifier = ScramVerifier(mechanism, bytes(64), MAX_ITERATIONS, bytes(64), bytes(64))
    accounts = Accounts([Account("acme", "acme", verifiers={mechanism: verifier})], key=b"key")
    stage.shared.sasl = replace(stage.shared.sasl, accounts=accounts)
    token = b"\0" + name.encode() + b"\0" + password

    frame = request_frame(authenticate(token), 2, 2)

    assert least_cost_ns(stage, frame, request_frame(handshake(), 1, 1)) < BOUND_NS
    began_ns = time.thread_time_ns()
    accounts.check(name, password).run()
    assert time.thread_time_ns() - began_ns > 2 * BOUND_NS, "what is done in a thread"


def worst_tokens(issuer: Issuer, max_bytes: int) -> dict[str, bytes]:
    signed = issuer.token(NOW_S, filler="x" * (max_bytes * 3 // 4 - 900))
    return {
        "a large token that is good": client_first(signed),
        "its signature spoilt": client_first(signed[:-6] + "AAAAAA"),
        "a header of lists": client_first(f"{encoded([[[]]] * 700)}.e30.AA"),
        "a header of numbers": client_first(f"{encoded(list(range(1_000)))}.e30.AA"),
        "a header of one number": client_first(f"{encoded({'alg': 'x' * 5_000})}.e30.AA"),
        "many parts": client_first("a." * (max_bytes // 2)),
        "a large payload": client_first(f"{encoded({'alg': 'RS256', 'kid': 'key-1'})}.{'A' * 15_000}.AA"),
        "many extensions": client_first("a.b.c", extensions="a=b\1" * (MAX_OTHER_BYTES // 4 - 8)),
        "no end": b"n,,\1" + b"a=b\1" * 5_000,
        "a long name": client_first("a.b.c", authorization_id="=2C" * (MAX_OTHER_BYTES // 3 - 8)),
        "too large": client_first("a" * 300_000),
    }


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "ES256", "ES384", "ES512"])
def test_an_access_token_is_cheap(algorithm: str) -> None:
    issuer = Issuer(algorithm)
    keys = KeySet(10, lambda: None)
    keys.replace(jwk_set(issuer.public_jwk()))
    settings = OAuth.model_validate({"issuer": ISSUER, "audience": ("kafka",)})
    accounts = Accounts([Account("alice", "acme")], key=b"key")
    tokens = AccessTokens(settings, keys, accounts, {"acme"}, now_s=lambda: NOW_S)

    bound_ns = SIGNATURE_BOUND_NS if algorithm in ("ES384", "ES512") else BOUND_NS
    for what, token in worst_tokens(issuer, settings.max_token_bytes).items():
        # On a busy machine all but a few take longer than they need.
        assert any(_respond_ns(OAuthBearerServer(tokens), token) < bound_ns for _ in range(100)), what


class Refuses:
    """A context that takes no token, as MIT's own after it has parsed one."""

    is_complete = False

    def step(self, token: bytes) -> bytes:
        raise ContextFailed("a bad token")

    def initiator(self) -> str:
        raise NotImplementedError

    def wrap(self, message: bytes) -> bytes:
        raise NotImplementedError

    def unwrap(self, message: bytes) -> bytes:
        raise NotImplementedError


@pytest.mark.parametrize("size", [0, MAX_GSSAPI_BYTES, MAX_GSSAPI_BYTES + 1, 500_000])
def test_of_a_kerberos_token_nothing_but_its_context_costs(size: int) -> None:
    def new_context() -> SecurityContext:
        return Refuses()

    def server() -> GssapiServer:
        return GssapiServer(KerberosSettings(new_context, None), Accounts([], key=b""))  # type: ignore[arg-type]

    assert min(_respond_ns(server(), bytes(size)) for _ in range(TRIES)) < BOUND_NS


def _respond_ns(exchange: GssapiServer | OAuthBearerServer, token: bytes) -> int:
    began_ns = time.thread_time_ns()
    with suppress(AuthenticationFailed):
        exchange.respond(token)
    return time.thread_time_ns() - began_ns

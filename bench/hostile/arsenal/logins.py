"""What clients may make the gateway do before it is known who they are: 150 at once, from 8 addresses."""

from collections.abc import Iterator

from bench.frames import request_frame
from bench.hostile.attack import Evidence, attack
from bench.hostile.crowd import Crowd, Frames
from bench.hostile.field import Field
from bench.hostile.salted import SALTED
from bifrost.wire.messages import SaslAuthenticateRequest, SaslHandshakeRequest

ARABIC_LIGATURE = "\ufdfa"
"""One character that becomes eighteen when it is prepared (NFKC)."""


def _handshake(mechanism: str) -> bytes:
    return request_frame(SaslHandshakeRequest(mechanism=mechanism), 1, 1)


def _token(token: bytes) -> bytes:
    return request_frame(SaslAuthenticateRequest(auth_bytes=token), 2, 2)


def _log_in_again_and_again(field: Field, frames: Frames) -> None:
    """Let many clients connect, send frames one after the other, each after the answer to the last, and begin anew."""
    Crowd(field, frames).run()


def _expensive_name(size: int) -> bytes:
    """Return a user name of so many bytes, about, that is expensive to prepare."""
    return (ARABIC_LIGATURE * (size // 3)).encode()


def _saslprep_bomb_plain(field: Field, size: int) -> Iterator[None]:
    frames = [_handshake("PLAIN"), _token(b"\0" + _expensive_name(size) + b"\0password")]
    yield
    _log_in_again_and_again(field, lambda number: frames)


@attack(
    "150 clients at once from 8 addresses: SCRAM with a 4 KB user name that is expensive to prepare (SASLprep)",
    evidence=Evidence.ANSWERS,
)
def saslprep_bomb(field: Field) -> Iterator[None]:
    frames = [_handshake("SCRAM-SHA-256"), _token(b"n,,n=" + _expensive_name(4000) + b",r=nonce")]
    yield
    _log_in_again_and_again(field, lambda number: frames)


@attack("the same with PLAIN", evidence=Evidence.ANSWERS)
def saslprep_bomb_plain(field: Field) -> Iterator[None]:
    yield from _saslprep_bomb_plain(field, 4000)


@attack("the same with 500 KiB", evidence=Evidence.ANSWERS)
def saslprep_bomb_large(field: Field) -> Iterator[None]:
    yield from _saslprep_bomb_plain(field, 500_000)


@attack(
    "wrong passwords with PLAIN, a connection each, 150 at once from 8 addresses", evidence=Evidence.ANSWERS
)
def sasl_flood_plain(field: Field) -> Iterator[None]:
    handshake, user = _handshake("PLAIN"), field.target.user.encode()
    yield
    _log_in_again_and_again(field, lambda number: [handshake, _token(b"\0%s\0wrong%d" % (user, number))])


@attack(
    "the same for a user with verifiers, which cost the gateway some 12 ms each (PBKDF2)",
    evidence=Evidence.ANSWERS,
)
def plain_against_verifiers(field: Field) -> Iterator[None]:
    handshake = _handshake("PLAIN")
    yield
    _log_in_again_and_again(
        field, lambda number: [handshake, _token(b"\0%s\0wrong%d" % (SALTED.encode(), number))]
    )


@attack("first messages of SCRAM for ever new users, likewise", evidence=Evidence.ANSWERS)
def sasl_flood_scram(field: Field) -> Iterator[None]:
    handshake = _handshake("SCRAM-SHA-256")
    yield
    _log_in_again_and_again(field, lambda number: [handshake, _token(b"n,,n=user%d,r=nonce" % number)])


@attack("SCRAM to its end with a wrong proof, likewise", evidence=Evidence.ANSWERS)
def sasl_flood_scram_proofs(field: Field) -> Iterator[None]:
    handshake, user = _handshake("SCRAM-SHA-256"), field.target.user.encode()
    proof = b"c=biws,r=nonce,p=" + b"A" * 43 + b"="
    yield
    _log_in_again_and_again(
        field, lambda number: [handshake, _token(b"n,,n=%s,r=nonce" % user), _token(proof)]
    )


@attack("unknown mechanisms, up to 500 on a connection, likewise", evidence=Evidence.ANSWERS)
def sasl_handshakes(field: Field) -> Iterator[None]:
    frames = [_handshake("x" * 30_000)] * 500
    yield
    _log_in_again_and_again(field, lambda number: frames)


@attack("SCRAM messages of 500 KiB, likewise", evidence=Evidence.ANSWERS)
def sasl_large_tokens(field: Field) -> Iterator[None]:
    frames = [_handshake("SCRAM-SHA-256"), _token(b"n,,n=user,r=" + b"=2C," * 120_000)]
    yield
    _log_in_again_and_again(field, lambda number: frames)


@attack("good logins, a connection each, 150 at once from 8 addresses", evidence=Evidence.ANSWERS)
def good_logins(field: Field) -> Iterator[None]:
    user, password = field.target.user.encode(), field.target.password.encode()
    frames = [_handshake("PLAIN"), _token(b"\0" + user + b"\0" + password)]
    yield
    _log_in_again_and_again(field, lambda number: frames)

import base64
import pickle
import re
import time
from base64 import b64decode

import pytest
from pydantic import ValidationError

from bifrost.config.fields.tenants import Auth, Credential, Tenant
from bifrost.config.fields.verifiers import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SCRAM_HASHES,
    Mechanism,
    ScramVerifier,
    read_verifiers,
)

# RFC 7677, section 3.
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
AUTH_MESSAGE = (
    b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
)
PROOF = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
SIGNATURE = b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
RFC = ScramVerifier.derive(Mechanism.SCRAM_SHA_256, b"pencil", SALT, 4096)
LONG = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"pencil", SALT, 8192)


def test_the_exchange_of_the_rfc_is_proven_and_answered() -> None:
    assert RFC.is_proven_by(PROOF, AUTH_MESSAGE)
    assert RFC.server_signature(AUTH_MESSAGE) == SIGNATURE


def test_nothing_else_is_proven() -> None:
    wrong = bytes([PROOF[0] ^ 1]) + PROOF[1:]

    for proof in (wrong, b"", PROOF[:-1], PROOF + b"\0", bytes(32)):
        assert not RFC.is_proven_by(proof, AUTH_MESSAGE)
    assert not RFC.is_proven_by(PROOF, AUTH_MESSAGE + b" ")
    assert not LONG.is_proven_by(PROOF, AUTH_MESSAGE)


@pytest.mark.parametrize("verifier", [RFC, LONG])
def test_a_password_is_recognised(verifier: ScramVerifier) -> None:
    assert verifier.matches(b"pencil")
    assert not any(verifier.matches(other) for other in (b"", b"Pencil", b"pencil ", b"pen"))


@pytest.mark.parametrize("verifier", [RFC, LONG])
def test_a_line_is_read_back(verifier: ScramVerifier) -> None:
    assert read_verifiers(verifier.to_line()) == (verifier,)


def test_the_form_is_kafkas() -> None:
    # As ScramCredentialUtils.credentialToString writes it.
    pattern = r"SCRAM-SHA-256=\[salt=[^,]+,stored_key=[^,]+,server_key=[^,]+,iterations=4096\]"

    assert re.fullmatch(pattern, RFC.to_line())


def test_a_file_has_a_line_for_each_mechanism_in_any_order_and_comments() -> None:
    text = f"# acme\r\n\n  {LONG.to_line()}  \n#\n{RFC.to_line()}"

    assert read_verifiers(text) == (RFC, LONG)


def test_what_is_between_the_brackets_comes_in_any_order() -> None:
    mechanism, values = RFC.to_line().rstrip("]").split("=[")

    turned = f"{mechanism}=[{', '.join(reversed(values.split(',')))}]"

    assert read_verifiers(turned) == (RFC,)


FORM = "expected SCRAM-SHA-256 or SCRAM-SHA-512=[salt=...,stored_key=...,server_key=...,iterations=...]"
KEYS = "line 1: expected salt, stored_key, server_key, iterations in the brackets, each once"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("SCRAM-SHA-256", "SCRAM-SHA-1", f"line 1: {FORM}"),
        ("SCRAM-SHA-256", "PLAIN", f"line 1: {FORM}"),
        ("]", "", f"line 1: {FORM}"),
        ("]", "] ]", f"line 1: {FORM}"),
        ("iterations=4096", "iterations=4096,salt=AAAA", KEYS),
        (",iterations=4096", "", KEYS),
        ("stored_key=", "key=", KEYS),
        ("=4096", "=4095", "line 1: iterations must be a number from 4096 to 16384"),
        ("=4096", "=16385", "line 1: iterations must be a number from 4096 to 16384"),
        ("=4096", "=-4096", "line 1: iterations must be a number from 4096 to 16384"),
        ("=4096", "=9999999999", "line 1: iterations must be a number from 4096 to 16384"),
        ("=4096", "=²", "line 1: iterations must be a number from 4096 to 16384"),
        ("salt=", "salt=!", "line 1: salt is not base64"),
        ("W22ZaJ0SNY7soEsUEjb6gQ==", "W22ZaJ0SNY7soEs=", "line 1: salt has 11 bytes, expected 12 to 64"),
        ("W22ZaJ0SNY7soEsUEjb6gQ==", "A" * 88, "line 1: salt has 66 bytes, expected 12 to 64"),
        ("SHA-256", "SHA-512", "line 1: stored_key has 32 bytes, expected 64"),
    ],
)
def test_a_line_that_is_none_says_what_is_expected_without_a_value(old: str, new: str, expected: str) -> None:
    assert old in RFC.to_line()

    with pytest.raises(ValueError, match=re.escape(expected)) as caught:
        read_verifiers(RFC.to_line().replace(old, new))

    secrets = re.findall("_key=([^,]+),", RFC.to_line())
    assert len(secrets) == 2
    assert not any(secret in str(caught.value) for secret in secrets)


def test_bounds_are_kafkas_and_taken_themselves() -> None:
    assert (MIN_ITERATIONS, MAX_ITERATIONS) == (4096, 16384)
    for iterations in (MIN_ITERATIONS, MAX_ITERATIONS):
        [verifier] = read_verifiers(RFC.to_line().replace("=4096", f"={iterations}"))
        assert verifier.iterations == iterations


def test_a_mechanism_is_given_once_and_some_is() -> None:
    with pytest.raises(ValueError, match="line 2: SCRAM-SHA-256 is given twice"):
        read_verifiers(f"{RFC.to_line()}\n{RFC.to_line()}")
    for text in ("", "\n# only a comment\n"):
        with pytest.raises(ValueError, match="has no verifier: write the lines into it"):
            read_verifiers(text)


@pytest.mark.parametrize("model", [RFC, LONG])
def test_an_imitation_has_the_shape_is_stable_and_matches_nothing(model: ScramVerifier) -> None:
    first, again, other, elsewhere = (
        model.imitated(key, name)
        for key, name in ((b"key", "ann"), (b"key", "ann"), (b"key", "bob"), (b"k", "ann"))
    )

    assert first == again
    assert len({first.salt, other.salt, elsewhere.salt, model.salt}) == 4
    assert first.stored_key not in (model.stored_key, other.stored_key)
    assert (len(first.salt), first.iterations, first.mechanism) == (
        len(model.salt),
        model.iterations,
        model.mechanism,
    )
    assert not first.matches(b"pencil")
    assert read_verifiers(first.to_line()) == (first,)


def test_an_imitation_of_a_salt_of_kafkas_looks_like_one() -> None:
    kafkas = ScramVerifier(Mechanism.SCRAM_SHA_256, b"1k5zq0v2w9x8y7u6t5s4r3q2p", 4096, bytes(32), bytes(32))

    salt = kafkas.imitated(b"key", "ann").salt

    assert re.fullmatch(b"[0-9a-z]{25}", salt)
    assert salt != kafkas.salt


def test_no_way_of_printing_shows_a_key() -> None:
    user = Credential(username="acme", scram_file="acme.scram", verifiers=(RFC, LONG))
    tenant = Tenant(name="acme", auth=Auth(credentials=(user,)))

    printed = [repr(RFC), str(RFC), f"{RFC}", repr([RFC]), repr(user), str(tenant)]
    printed += [repr(tenant.model_dump()), tenant.model_dump_json()]

    assert printed[:3] == ["ScramVerifier(SCRAM-SHA-256, ***)"] * 3
    for secret in (RFC.stored_key, RFC.server_key, RFC.salt):
        shown = (repr(secret)[2:-1], base64.b64encode(secret).decode(), secret.hex())
        assert not any(one in text for one in shown for text in printed)
    assert "***" in printed[-1]


def test_the_model_refuses_a_plain_value_without_repeating_it() -> None:
    with pytest.raises(ValidationError) as caught:
        Credential.model_validate({"username": "acme", "scram_file": "x", "verifiers": (RFC.to_line(),)})

    assert "stored_key" not in str(caught.value)


def test_every_mechanism_of_scram_has_its_hash() -> None:
    assert set(SCRAM_HASHES) == {one for one in Mechanism if one.startswith("SCRAM-")}


def test_the_dearest_verifier_is_checked_in_a_time_that_a_loop_can_spare() -> None:
    dearest = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"pencil", SALT, MAX_ITERATIONS)
    started = time.process_time()

    assert dearest.matches(b"pencil")
    assert time.process_time() - started < 0.5


def test_a_verifier_does_not_change() -> None:
    with pytest.raises(AttributeError):
        RFC.iterations = 1  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(RFC)) == RFC  # for workers of one gateway

import base64
import json
from typing import Any

import pytest

from bifrost.authentication.json_web_keys import KeySet, NoKey, UnknownKey, read_keys
from bifrost.config.fields.oauth import Algorithm
from support.identity.issuer import CURVES, Issuer, jwk_set, private_key

RSA_ALGORITHMS = {one for one in Algorithm if one[0] in "RP"}


def only(jwk: dict[str, Any]) -> frozenset[Algorithm] | None:
    """The algorithms of the one key of a set, None if it is not taken."""
    keys = read_keys(jwk_set(jwk), 10)
    return keys[0].algorithms if keys else None


def test_an_rsa_key_is_for_every_algorithm_with_rsa() -> None:
    assert only(Issuer().public_jwk()) == RSA_ALGORITHMS


@pytest.mark.parametrize("algorithm", sorted(CURVES))
def test_a_key_of_a_curve_is_for_the_algorithm_of_that_curve(algorithm: str) -> None:
    assert only(Issuer(algorithm).public_jwk()) == {algorithm}


def test_a_key_that_names_its_algorithm_is_for_that_alone() -> None:
    assert only(Issuer().public_jwk(alg="PS512")) == {"PS512"}
    assert only(Issuer("ES256").public_jwk(alg="ES384")) is None
    assert only(Issuer().public_jwk(alg="HS256")) is None
    assert only(Issuer().public_jwk(alg=["RS256"])) is None


@pytest.mark.parametrize(
    "members",
    [
        {"use": "enc"},
        {"key_ops": ["encrypt"]},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "OKP"},
        {"kty": ["RSA"]},
        {"kty": None},
        {"n": None},
        {"n": 5},
        {"n": "%%%"},
        {"e": "AA"},
    ],
)
def test_what_cannot_check_a_signature_is_passed_over(members: dict[str, Any]) -> None:
    good = Issuer(number=2).public_jwk()

    jwk = {**Issuer().public_jwk(), **members}
    keys = read_keys(jwk_set({name: one for name, one in jwk.items() if one is not None}, good), 10)

    assert [key.key_id for key in keys] == ["key-2"]


@pytest.mark.parametrize("members", [{"crv": "secp256k1"}, {"crv": "P-384"}, {"x": "AAAA"}, {"y": None}])
def test_a_point_that_is_on_no_curve_is_passed_over(members: dict[str, Any]) -> None:
    assert only(Issuer("ES256").public_jwk(**members)) is None


def test_a_short_rsa_key_is_passed_over() -> None:
    short = Issuer()
    short.private_key = private_key("RSA", bits=1024)

    assert only(short.public_jwk()) is None


def test_what_are_no_keys_is_passed_over() -> None:
    assert read_keys(json.dumps({"keys": [5, None, "text", [], {}]}).encode(), 10) == ()


def test_of_a_private_key_only_the_public_part_is_taken() -> None:
    number = base64.urlsafe_b64encode(b"\7").decode()

    [key] = read_keys(jwk_set(Issuer().public_jwk(d=number, p=number)), 10)

    assert key.public_key == Issuer().private_key.public_key()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"5", "no JWK set"),
        (b"[]", "no JWK set"),
        (b"{}", "no JWK set"),
        (b'{"keys": {}}', "no JWK set"),
        (b'{"keys": [1,2,3,4]}', "4 keys, at most 3 are taken"),
    ],
)
def test_what_is_no_set_is_refused_as_a_whole(content: bytes, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        read_keys(content, 3)


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def keys(asked: list[str]) -> KeySet:
    return KeySet(10, lambda: asked.append("more"))


def test_without_keys_every_token_may_be_good_later(keys: KeySet, asked: list[str]) -> None:
    with pytest.raises(UnknownKey, match="could not be fetched yet"):
        keys.find("key-1", Algorithm.RS256)

    assert (len(keys), asked) == (0, ["more"])


def test_a_key_is_found_by_its_name_and_its_algorithm(keys: KeySet, asked: list[str]) -> None:
    keys.replace(jwk_set(Issuer().public_jwk(), Issuer("ES256", number=2).public_jwk()))

    assert keys.find("key-2", Algorithm.ES256).key_id == "key-2"
    assert keys.find("key-1", Algorithm.PS384).key_id == "key-1"
    with pytest.raises(NoKey, match="is not for ES256"):
        keys.find("key-1", Algorithm.ES256)
    assert asked == []


def test_an_unknown_name_asks_for_more(keys: KeySet, asked: list[str]) -> None:
    keys.replace(jwk_set(Issuer().public_jwk()))

    with pytest.raises(UnknownKey, match="does not list"):
        keys.find("key-2", Algorithm.RS256)

    assert asked == ["more"]


def test_without_a_name_the_only_key_is_meant(keys: KeySet, asked: list[str]) -> None:
    keys.replace(jwk_set(Issuer().public_jwk(), Issuer("ES256", number=2).public_jwk(kid=None)))

    assert keys.find(None, Algorithm.RS256).key_id == "key-1"
    assert keys.find(None, Algorithm.ES256).key_id is None
    keys.replace(jwk_set(Issuer().public_jwk(), Issuer(number=2).public_jwk()))
    with pytest.raises(NoKey, match="does not say which"):
        keys.find(None, Algorithm.RS256)
    assert asked == []


def test_a_set_without_a_key_changes_nothing(keys: KeySet) -> None:
    keys.replace(jwk_set(Issuer().public_jwk()))

    for content in (b"{", jwk_set(), jwk_set(Issuer(number=2).public_jwk(use="enc"))):
        with pytest.raises(ValueError, match=r"not JSON|no key"):
            keys.replace(content)

    assert keys.find("key-1", Algorithm.RS256).key_id == "key-1"


def test_keys_that_are_gone_are_trusted_no_more(keys: KeySet) -> None:
    keys.replace(jwk_set(Issuer().public_jwk()))
    keys.replace(jwk_set(Issuer(number=2).public_jwk()))

    with pytest.raises(UnknownKey):
        keys.find("key-1", Algorithm.RS256)
    keys.clear()
    with pytest.raises(UnknownKey):
        keys.find("key-2", Algorithm.RS256)

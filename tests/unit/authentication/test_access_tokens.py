"""Which tokens are good. Everything a forger could try has its line here."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWS

from bifrost.authentication.access_tokens import MAX_HEADER_LENGTH, AccessTokens
from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.json_web_keys import KeySet
from bifrost.authentication.oauthbearer_server import InvalidToken, KeysAreFetched
from bifrost.config.fields.oauth import OAuth
from support.identity.issuer import ISSUER, Issuer, encoded, jwk_set

NOW_S = 1_800_000_000.0
ALICE, OTHER = Account("alice", "acme"), Account("bob", "globex")
RSA = Issuer()


class World:
    """What checks tokens, and what a test may turn."""

    def __init__(self, *issuers: Issuer, **settings: Any) -> None:
        self.now_s = NOW_S
        self.is_fetching = False
        self.asked = 0
        self.keys = KeySet(10, self._note)
        if issuers:
            self.keys.replace(jwk_set(*(one.public_jwk() for one in issuers)))
        if "any_audience" not in settings:
            settings.setdefault("audience", ("kafka", "other"))
        self.tokens = AccessTokens(
            OAuth.model_validate({"issuer": ISSUER, **settings}),
            self.keys,
            Accounts([ALICE, OTHER], key=b"key"),
            {"acme", "globex"},
            now_s=lambda: self.now_s,
            is_fetching=lambda: self.is_fetching,
        )

    def _note(self) -> None:
        self.asked += 1

    def refusal(self, token: str) -> InvalidToken:
        with pytest.raises(InvalidToken) as caught:
            self.tokens.check(token)
        # No token, nor a part of one, stands in what could be logged.
        assert len(token) < 60 or token[10:50] not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return caught.value


@pytest.fixture
def world() -> World:
    return World(RSA)


@pytest.mark.parametrize(
    "algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
)
def test_a_good_token_is_its_principals(algorithm: str) -> None:
    issuer = Issuer(algorithm)

    checked = World(issuer).tokens.check(issuer.token(NOW_S))

    assert checked.account is ALICE
    assert checked.lifetime_ms == 300_000


def test_tampered_claims_and_signatures_are_refused(world: World) -> None:
    head, claims, signature = RSA.token(NOW_S).split(".")
    other = encoded({"iss": ISSUER, "aud": "kafka", "sub": "bob", "iat": NOW_S, "exp": NOW_S + 300})
    flipped = ("A" if signature[5] != "A" else "B").join((signature[:5], signature[6:]))

    for token in (f"{head}.{other}.{signature}", f"{head}.{claims}.{flipped}"):
        assert str(world.refusal(token)) == "the token's signature is wrong"


def test_another_issuers_key_is_refused_under_this_ones_name(world: World) -> None:
    forged = Issuer(number=2)
    forged.key_id = RSA.key_id

    assert str(world.refusal(forged.token(NOW_S))) == "the token's signature is wrong"


@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE", "", None, 5, ["RS256"]])
def test_an_unsigned_token_is_refused(world: World, name: object) -> None:
    claims = encoded({"iss": ISSUER, "aud": "kafka", "sub": "alice", "iat": NOW_S, "exp": NOW_S + 300})
    head = encoded({"alg": name, "kid": RSA.key_id})

    for token in (f"{head}.{claims}.", f"{head}.{claims}.AAAA"):
        assert "not signed by an algorithm that is allowed" in str(world.refusal(token))


@pytest.mark.parametrize("name", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("form", ["pem", "der", "modulus", "jwk"])
def test_the_public_key_is_no_secret_that_signs(world: World, name: str, form: str) -> None:
    public = RSA.private_key.public_key()
    secret = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "modulus": RSA.public_jwk()["n"].encode(),
        "jwk": json.dumps(RSA.public_jwk()).encode(),
    }[form]
    claims = encoded({"iss": ISSUER, "aud": "kafka", "sub": "alice", "iat": NOW_S, "exp": NOW_S + 300})
    signed = f"{encoded({'alg': name, 'kid': RSA.key_id})}.{claims}"
    digest = hmac.digest(secret, signed.encode(), getattr(hashlib, f"sha{name[2:]}"))
    signature = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    assert "not signed by an algorithm that is allowed" in str(world.refusal(f"{signed}.{signature}"))


def test_an_algorithm_that_is_not_configured_is_refused() -> None:
    world = World(RSA, algorithms=("RS512", "ES256"))

    assert "not signed by an algorithm" in str(world.refusal(RSA.token(NOW_S)))
    assert world.tokens.check(RSA.token(NOW_S, algorithm="RS512")).account is ALICE


def test_a_key_does_not_change_its_kind() -> None:
    curve = Issuer("ES256", number=2)
    world = World(RSA, curve)

    token = RSA.token(NOW_S, headers={"kid": curve.key_id})

    assert str(world.refusal(token)) == "the issuer's key is not for RS256"


@pytest.mark.parametrize(
    "headers",
    [
        {"jwk": Issuer(number=2).public_jwk()},
        {"jku": "https://attacker.example.com/keys"},
        {"x5u": "https://attacker.example.com/keys"},
    ],
)
def test_a_key_that_the_token_brings_along_is_not_looked_at(world: World, headers: dict[str, Any]) -> None:
    forged = Issuer(number=2)
    forged.key_id = RSA.key_id

    assert str(world.refusal(forged.token(NOW_S, headers=headers))) == "the token's signature is wrong"


@pytest.mark.parametrize("spoil", ["!", " ", "\n", "+", "=", "é"])
def test_a_signature_has_one_spelling(world: World, spoil: str) -> None:
    token = RSA.token(NOW_S)

    # Decoders of base64 pass over what is not of their alphabet: one token would have any number of forms.
    text = str(world.refusal(f"{token[:-10]}{spoil}{token[-10:]}"))
    assert text in ("the token cannot be read", "the token's signature is wrong")


def test_a_signature_may_have_its_padding(world: World) -> None:
    token = RSA.token(NOW_S)
    padding = "=" * (-len(token.rpartition(".")[2]) % 4)

    assert padding
    assert world.tokens.check(token + padding).account is ALICE
    assert str(world.refusal(f"{token}{padding}=")) == "the token cannot be read"


def test_claims_that_are_no_object_are_refused(world: World) -> None:
    no_objects: tuple[object, ...] = ([], 5, None, "iss")
    for claims in no_objects:
        token = PyJWS().encode(
            json.dumps(claims).encode(), RSA.private_key, "RS256", headers={"kid": RSA.key_id}
        )
        assert str(world.refusal(token)) == "the token cannot be read"


@pytest.mark.parametrize("headers", [{"crit": ["exp"]}, {"crit": []}, {"b64": False}, {"b64": True}])
def test_an_extension_that_is_not_known_is_refused(world: World, headers: dict[str, Any]) -> None:
    _, claims, signature = RSA.token(NOW_S).split(".")
    head = encoded({"alg": "RS256", "kid": RSA.key_id, **headers})

    for token in (f"{head}.{claims}.{signature}", f"{head}..{signature}"):
        text = str(world.refusal(token))
        assert text in (
            "the token wants an extension that is not known",
            "the token is no signed JSON Web Token",
        )


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"iss": "https://login.example.com/other"}, "of another issuer"),
        ({"iss": f"{ISSUER}/"}, "of another issuer"),
        ({"iss": None}, "no claim iss"),
        ({"aud": "another"}, "for another audience"),
        ({"aud": ["another", "else"]}, "for another audience"),
        ({"aud": []}, "no claim aud"),
        ({"aud": 5}, "for another audience"),
        ({"aud": None}, "no claim aud"),
        ({"exp": None}, "no claim exp"),
        ({"iat": None}, "no claim iat"),
        ({"exp": NOW_S - 30}, "has expired"),
        ({"exp": NOW_S - 86_400}, "has expired"),
        ({"exp": "tomorrow"}, "claim exp is no time"),
        ({"exp": True}, "claim exp is no time"),
        ({"exp": float("inf")}, "claim exp is no time"),
        ({"exp": float("nan")}, "claim exp is no time"),
        ({"exp": 10**400}, "claim exp is no time"),
        ({"exp": -1}, "claim exp is no time"),
        ({"iat": NOW_S + 31}, "issued in the future"),
        ({"iat": "now"}, "claim iat is no time"),
        ({"nbf": NOW_S + 31}, "not good yet"),
        ({"nbf": []}, "claim nbf is no time"),
        ({"sub": None}, "claim sub is no name"),
        ({"sub": ""}, "claim sub is no name"),
        ({"sub": 5}, "claim sub is no name"),
        ({"sub": ["alice"]}, "claim sub is no name"),
        ({"sub": " alice"}, "claim sub is no name"),
        ({"sub": "alice\n"}, "claim sub is no name"),
        ({"sub": "a" * 257}, "claim sub is no name"),
        ({"sub": "mallory"}, "principal 'mallory' belongs to no tenant"),
        ({"sub": "ALICE"}, "belongs to no tenant"),
    ],
)
def test_a_claim_that_is_wrong_is_named(world: World, claims: dict[str, Any], expected: str) -> None:
    refusal = world.refusal(RSA.token(NOW_S, **claims))

    assert expected in str(refusal)
    assert (refusal.status, refusal.scope) == ("invalid_token", None)


@pytest.mark.parametrize(
    ("claims", "lifetime_ms"),
    [
        ({"exp": NOW_S + 0.5}, 500),
        ({"exp": NOW_S}, 0),
        ({"exp": NOW_S - 29}, 0),
        ({"iat": NOW_S + 29}, 300_000),
        ({"nbf": NOW_S + 29}, 300_000),
        ({"nbf": NOW_S - 10_000}, 300_000),
        ({"aud": ["unknown", "other"]}, 300_000),
    ],
)
def test_clocks_may_differ_by_half_a_minute(world: World, claims: dict[str, Any], lifetime_ms: int) -> None:
    assert world.tokens.check(RSA.token(NOW_S, **claims)).lifetime_ms == lifetime_ms


def test_with_clocks_that_do_not_differ_a_token_ends_to_the_second() -> None:
    world = World(RSA, clock_skew_ms=0)
    token = RSA.token(NOW_S, exp=int(NOW_S) + 5)
    assert world.tokens.check(token).lifetime_ms == 5_000

    world.now_s += 5

    assert str(world.refusal(token)) == "the token has expired"


def test_a_token_for_any_audience_is_taken_only_where_that_is_configured() -> None:
    world = World(RSA, any_audience=True)

    for audience in (None, "another", ["x"]):
        assert world.tokens.check(RSA.token(NOW_S, aud=audience)).account is ALICE


@pytest.mark.parametrize(
    ("claims", "missing"),
    [
        ({}, "read, write"),
        ({"scope": "read"}, "write"),
        ({"scope": "reader writer"}, "read, write"),
        ({"scp": ["write"]}, "read"),
        ({"scope": 5, "scp": [5, None]}, "read, write"),
    ],
)
def test_a_missing_scope_is_told_to_the_client_as_well(claims: dict[str, Any], missing: str) -> None:
    refusal = World(RSA, scope=("read", "write")).refusal(RSA.token(NOW_S, **claims))

    assert str(refusal) == f"the token lacks the scope {missing}"
    assert (refusal.status, refusal.scope) == ("insufficient_scope", "read write")


@pytest.mark.parametrize(
    "claims", [{"scope": "a write read"}, {"scope": ["read", "write"]}, {"scp": "write", "scope": "read"}]
)
def test_scopes_stand_in_either_claim_as_text_or_list(claims: dict[str, Any]) -> None:
    assert World(RSA, scope=("read", "write")).tokens.check(RSA.token(NOW_S, **claims)).account is ALICE


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "a.b.c.d.e",
        f"{encoded([])}.e30.AA",
        f"{encoded(5)}.e30.AA",
        f"{base64.urlsafe_b64encode(b'[' * 6000).decode()}.e30.AA",
        f"{encoded({'alg': 'RS256', 'kid': 5})}.e30.AA",
        f"{encoded({'alg': 'RS256', 'kid': None})}.e30.AA",
        "eyJhbGciOiJSUzI1NiJ9=.e30.AA",
    ],
)
def test_what_is_no_token_is_refused(world: World, token: str) -> None:
    text = str(world.refusal(token))

    assert text in ("the token is no signed JSON Web Token", "the token's signature is wrong")


@pytest.mark.parametrize("claims", [b"[]", b"5", b"not json", b"[" * 9000, b"\xff"])
def test_what_the_issuer_signed_must_be_claims(world: World, claims: bytes) -> None:
    import jwt

    signed = jwt.PyJWS().encode(claims, RSA.private_key, "RS256", headers={"kid": RSA.key_id})

    assert str(world.refusal(signed)) == "the token cannot be read"


def test_a_token_that_is_too_large_is_not_looked_at() -> None:
    world = World(RSA, max_token_bytes=1000)

    assert str(world.refusal(RSA.token(NOW_S, more="x" * 1000))) == "the token is larger than 1000 bytes"


def test_an_unknown_key_asks_for_keys_and_is_refused_or_waits(world: World) -> None:
    token = Issuer(number=2).token(NOW_S)

    assert "does not list" in str(world.refusal(token))
    world.is_fetching = True
    with pytest.raises(KeysAreFetched):
        world.tokens.check(token)

    assert world.asked == 2
    # Who has a known key does not wait.
    assert world.tokens.check(RSA.token(NOW_S)).account is ALICE


def test_without_any_key_the_client_is_told_that_it_may_come_again() -> None:
    refusal = World().refusal(RSA.token(NOW_S))

    assert str(refusal) == "the issuer's keys could not be fetched yet"
    assert refusal.status == "temporarily_unavailable"


def test_another_claim_can_name_the_principal() -> None:
    world = World(RSA, principal_claim="client_id")

    assert world.tokens.check(RSA.token(NOW_S, sub="x", client_id="alice")).account is ALICE
    assert "claim client_id is no name" in str(world.refusal(RSA.token(NOW_S)))


@pytest.mark.parametrize(
    ("claim", "tenant", "below"),
    [("acme", "acme", ()), ("globex:eu", "globex", ("eu",)), ("acme:eu:shop-1", "acme", ("eu", "shop-1"))],
)
def test_a_claim_can_name_the_namespace(claim: str, tenant: str, below: tuple[str, ...]) -> None:
    world = World(RSA, namespace_claim="https://example.com/tenant")

    account = world.tokens.check(
        RSA.token(NOW_S, sub="any-user", **{"https://example.com/tenant": claim})
    ).account

    assert (account.username, account.tenant, account.namespace) == ("any-user", tenant, below)
    assert not account.has_password
    assert not account.is_listed


@pytest.mark.parametrize(
    "claim", [None, "", ":", ":eu", "initech", "initech:eu", "ACME", "acme/eu", 5, ["acme"], "acme\n"]
)
def test_a_claim_that_names_no_tenant_is_refused_for_any_principal(claim: object) -> None:
    world = World(RSA, namespace_claim="tenant")

    assert "names no tenant that may come in here" in str(world.refusal(RSA.token(NOW_S, tenant=claim)))


@pytest.mark.parametrize(
    "claim",
    [
        "acme:",
        "acme::eu",
        "acme:e u",
        "acme:e..u:..",
        "acme:eu:",
        "acme:" + "x" * 65,
        "acme:" + "a:" * 40 + "a",
    ],
)
def test_a_claim_that_names_no_namespace_is_refused(claim: str) -> None:
    world = World(RSA, namespace_claim="tenant")

    assert str(world.refusal(RSA.token(NOW_S, tenant=claim))) == (
        "the token's claim tenant names no namespace of tenant acme"
    )


def test_where_one_tenant_comes_in_the_others_do_not() -> None:
    by_principal = World(RSA).tokens
    assert by_principal.only_of("acme").check(RSA.token(NOW_S)).account is ALICE
    with pytest.raises(InvalidToken, match="belongs to no tenant"):
        by_principal.only_of("globex").check(RSA.token(NOW_S))

    by_claim = World(RSA, namespace_claim="tenant").tokens
    token = RSA.token(NOW_S, tenant="acme:eu")
    assert by_claim.only_of("acme").check(token).account.tenant == "acme"
    with pytest.raises(InvalidToken, match="may come in here"):
        by_claim.only_of("globex").check(token)
    # The one that was asked has not changed.
    assert by_claim.check(RSA.token(NOW_S, tenant="globex")).account.tenant == "globex"


def test_a_client_can_have_a_token_if_there_are_principals_or_a_claim() -> None:
    assert World(RSA).tokens.has_principals
    no_accounts = Accounts([], key=b"")
    for claim in (None, "tenant"):
        settings = OAuth(issuer=ISSUER, any_audience=True, namespace_claim=claim)
        tokens = AccessTokens(settings, KeySet(1), no_accounts, (), now_s=lambda: 0.0)
        assert tokens.has_principals == (claim is not None)


def test_a_token_with_a_long_header_is_not_decoded(world: World) -> None:
    longest = "A" * MAX_HEADER_LENGTH

    assert str(world.refusal(f"{longest}.e30.AA")) == "the token is no signed JSON Web Token"
    assert str(world.refusal(f"{longest}A.e30.AA")) == "the token's header is longer than 8192 characters"

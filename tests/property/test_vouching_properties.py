"""Whatever a client sends in place of a token or a ticket is refused in words, and never a bug."""

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bifrost.authentication.access_tokens import AccessTokens
from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed
from bifrost.authentication.json_web_keys import KeySet, read_keys
from bifrost.authentication.oauthbearer_server import InvalidToken, OAuthBearerServer
from bifrost.config.fields.oauth import OAuth
from bifrost.config.principals.kerberos_rules import LocalNames, NoLocalName, read_rule
from support.identity.issuer import ISSUER, Issuer, client_first, encoded, jwk_set

NOW_S = 1_800_000_000.0
ISSUERS = (Issuer(), Issuer("ES256", number=2))
GOOD = [one.token(NOW_S) for one in ISSUERS]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def tokens(**settings: Any) -> AccessTokens:
    keys = KeySet(10)
    keys.replace(jwk_set(*(one.public_jwk() for one in ISSUERS)))
    accounts = Accounts([Account("alice", "acme")], key=b"key")
    checked = OAuth.model_validate({"issuer": ISSUER, "audience": ("kafka",), **settings})
    return AccessTokens(checked, keys, accounts, {"acme"}, now_s=lambda: NOW_S)


TOKENS, BY_CLAIM = tokens(scope=("read",)), tokens(namespace_claim="tenant")


def is_good(checked: AccessTokens, token: str) -> bool:
    try:
        checked.check(token)
    except InvalidToken:
        return False
    return True


@given(st.sampled_from(GOOD), st.data())
def test_no_change_to_a_token_leaves_it_good(token: str, data: st.DataObject) -> None:
    checked = tokens()
    assert is_good(checked, token)
    position = data.draw(st.integers(0, len(token) - 1))
    kind = data.draw(st.sampled_from(["replace", "insert", "delete", "cut"]))
    other = data.draw(st.text(alphabet="ABCabc019-_.", min_size=1, max_size=3))
    changed = {
        "replace": token[:position] + other + token[position + len(other) :],
        "insert": token[:position] + other + token[position:],
        "delete": token[:position] + token[position + 1 :],
        "cut": token[:position],
    }[kind]

    assert changed == token or not is_good(checked, changed)


@given(
    st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk", "x"]), values, max_size=5),
    values,
)
def test_headers_and_claims_of_any_kind_are_refused_in_words(header: dict[str, Any], claims: object) -> None:
    signature = GOOD[0].split(".")[2]

    assert not is_good(TOKENS, f"{encoded(header)}.{encoded(claims)}.{signature}")


@given(
    st.sampled_from(ISSUERS),
    st.dictionaries(
        st.sampled_from(["aud", "sub", "exp", "iat", "nbf", "scope", "scp", "tenant"]), values, max_size=8
    ),
)
def test_whatever_the_issuer_signs_is_good_or_refused_in_words(
    issuer: Issuer, claims: dict[str, Any]
) -> None:
    token = issuer.token(NOW_S, **claims)

    for checked in (TOKENS, BY_CLAIM):
        if is_good(checked, token):
            assert claims.get("aud", "kafka") in ("kafka", ["kafka"]) or "kafka" in claims["aud"]
            assert "exp" not in claims or claims["exp"] > NOW_S - 30
            assert checked is TOKENS or claims.get("tenant") == "acme" or claims["tenant"].startswith("acme:")


@given(st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_key_set_is_refused_in_words(content: bytes) -> None:
    try:
        keys = read_keys(content, 10)
    except ValueError:
        return
    assert keys == ()


@given(
    st.dictionaries(
        st.sampled_from(["kty", "n", "e", "crv", "x", "y", "use", "key_ops", "alg", "kid"]), values
    )
)
def test_a_key_with_any_members_is_passed_over_or_read(members: dict[str, Any]) -> None:
    for issuer in ISSUERS:
        keys = read_keys(jwk_set({**issuer.public_jwk(), **members}), 10)
        assert len(keys) <= 1


@given(
    st.lists(st.binary(max_size=60) | st.sampled_from([b"\1", client_first(GOOD[0]), b"n,,\1"]), max_size=4)
)
def test_any_messages_end_in_a_failure_or_an_account(messages: list[bytes]) -> None:
    server = OAuthBearerServer(tokens())
    for message in messages:
        with contextlib.suppress(AuthenticationFailed):
            server.respond(message)

    assert (server.account is not None) <= (client_first(GOOD[0]) in messages)


@given(
    st.text(alphabet="RULE:[]()12$0@s/gLU.*+?ab\\|{}^&-", max_size=30).map(lambda text: f"RULE:[1:$1]{text}")
    | st.text(max_size=20),
    st.text(alphabet="abAB/@.-1$\\", max_size=12),
)
def test_any_rule_is_refused_or_gives_simple_names(rule: str, principal: str) -> None:
    try:
        read_rule(rule)
    except ValueError:
        return
    try:
        name = LocalNames("A", (rule,)).of(principal)
    except NoLocalName:
        return
    assert not {"/", "@"} & set(name)

"""The exchange around a context that is played by the test; real tickets are in tests/kafka."""

import pytest

from bifrost.authentication.accounts import Account, Accounts, AuthenticationFailed
from bifrost.authentication.gssapi_server import (
    MAX_STEPS,
    MAX_TOKEN_BYTES,
    ContextFailed,
    GssapiServer,
    KerberosSettings,
)
from bifrost.config.principals.kerberos_rules import LocalNames

ALICE = Account("alice", "acme")
TEXT = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"
CHOICE = b"wrapped:\1\0\0\0alice@EXAMPLE.COM"


class FakeContext:
    """A context that a `ticket` completes; it protects a message by a word in front of it."""

    def __init__(self, principal: str = "alice@EXAMPLE.COM", answer: bytes = b"proof") -> None:
        self._principal, self._answer = principal, answer
        self.is_complete = False

    def step(self, token: bytes) -> bytes:
        if token == b"more":
            return b"more"
        if token != b"ticket":
            raise ContextFailed("Request is a replay", is_passing=token == b"replay")
        self.is_complete = True
        return self._answer

    def initiator(self) -> str:
        return self._principal

    def wrap(self, message: bytes) -> bytes:
        return b"wrapped:" + message

    def unwrap(self, message: bytes) -> bytes:
        if not message.startswith(b"wrapped:"):
            raise ContextFailed("A token had an invalid Message Integrity Check (MIC)")
        return message.removeprefix(b"wrapped:")


def server(
    principal: str = "alice@EXAMPLE.COM", *, answer: bytes = b"proof", is_again: bool = False
) -> GssapiServer:
    accounts = Accounts([ALICE], key=b"key")
    names = LocalNames("EXAMPLE.COM", ("DEFAULT",))
    settings = KerberosSettings(lambda: FakeContext(principal, answer), names)
    return GssapiServer(settings, accounts, is_again=is_again)


def failure(one: GssapiServer, token: bytes) -> AuthenticationFailed:
    with pytest.raises(AuthenticationFailed) as caught:
        one.respond(token)
    assert one.account is None
    assert str(caught.value) == TEXT
    return caught.value


def test_a_ticket_lets_in_once_the_layer_is_chosen() -> None:
    one = server()

    assert one.respond(b"ticket") == b"proof"
    assert one.respond(b"") == b"wrapped:\1\0\0\0"
    assert one.account is None
    assert one.respond(CHOICE) == b""

    assert one.account is ALICE
    assert one.lifetime_ms is None


def test_who_does_not_ask_who_we_are_is_offered_the_layers_at_once() -> None:
    one = server(answer=b"")

    assert one.respond(b"ticket") == b"wrapped:\1\0\0\0"
    assert one.respond(b"wrapped:\1\0\0\0") == b""

    assert one.account is ALICE


def test_a_context_may_take_a_few_tokens_but_not_many() -> None:
    one = server()
    for _ in range(MAX_STEPS - 1):
        assert one.respond(b"more") == b"more"
    assert one.respond(b"ticket") == b"proof"

    one = server()
    for _ in range(MAX_STEPS):
        one.respond(b"more")
    assert failure(one, b"ticket").detail == f"no GSSAPI context after {MAX_STEPS} tokens"


def test_the_ticket_counts_for_whatever_user_the_client_says_it_acts() -> None:
    one = server()
    one.respond(b"ticket")
    one.respond(b"")

    one.respond(b"wrapped:\1\0\0\0kafka@localhost")

    assert one.account is ALICE


@pytest.mark.parametrize(
    "choice", [b"", b"\1", b"\1\0\0", b"\2\0\0\0", b"\3\0\0\0", b"\4\0\xff\xff", b"\0\0\0\0"]
)
def test_another_layer_than_none_is_refused(choice: bytes) -> None:
    one = server()
    one.respond(b"ticket")
    one.respond(b"")

    assert (
        failure(one, b"wrapped:" + choice).detail == "the client wants a security layer, which is not offered"
    )


def test_a_choice_without_protection_is_refused() -> None:
    one = server()
    one.respond(b"ticket")
    one.respond(b"")

    assert "invalid Message Integrity Check" in failure(one, b"\1\0\0\0").detail


@pytest.mark.parametrize(("token", "is_told"), [(b"garbage", True), (b"", True), (b"replay", False)])
def test_a_ticket_that_is_not_good_is_told_unless_another_try_mends_it(token: bytes, is_told: bool) -> None:
    refused = failure(server(), token)

    assert (refused.detail, refused.is_told) == ("Request is a replay", is_told)


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ("bob@EXAMPLE.COM", "the principal 'bob@EXAMPLE.COM' is 'bob' here, which belongs to no tenant"),
        ("alice@OTHER.COM", "'alice@OTHER.COM': no rule of principal_to_local_rules applies"),
        ("alice", "'alice': the principal is malformed"),
    ],
)
def test_a_principal_of_no_tenant_is_refused(principal: str, expected: str) -> None:
    one = server(principal)
    one.respond(b"ticket")
    one.respond(b"")

    assert failure(one, CHOICE).detail.startswith(expected)


@pytest.mark.parametrize(
    "tokens",
    [[b"ticket", b"ticket"], [b"ticket", CHOICE], [b"bad", b"ticket"], [b"ticket", b"", CHOICE, CHOICE]],
)
def test_a_token_out_of_order_fails(tokens: list[bytes]) -> None:
    one = server()
    *before, last = tokens
    for token in before:
        try:
            one.respond(token)
        except AuthenticationFailed:
            assert token == b"bad"

    with pytest.raises(AuthenticationFailed) as caught:
        one.respond(last)

    assert caught.value.detail == "a GSSAPI token out of order"


def test_a_token_that_is_too_large_is_not_read() -> None:
    assert (
        f"a GSSAPI token of {MAX_TOKEN_BYTES + 1} bytes"
        in failure(server(), bytes(MAX_TOKEN_BYTES + 1)).detail
    )


def test_the_text_says_if_it_was_not_the_first_time() -> None:
    with pytest.raises(AuthenticationFailed, match="failed during re-authentication due to"):
        server(is_again=True).respond(b"")

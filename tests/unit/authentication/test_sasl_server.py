import pytest

from bifrost.authentication.accounts import (
    OTHER_AUTHORIZATION_ID,
    WRONG_CREDENTIALS,
    Account,
    Accounts,
    AuthenticationFailed,
    PasswordIsChecked,
)
from bifrost.authentication.sasl_server import MAX_PLAIN_BYTES, PlainServer, SaslSettings, new_exchange
from bifrost.authentication.scram_server import ScramServer
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.config.secrets import Secret
from support.stage.stage import account as account_of

ACME = Account("acme", "acme", Secret(b"wile-e"))
UMLAUT = Account("jörg", "globex", Secret("paßwort".encode()))
ACCOUNTS = Accounts((ACME, UMLAUT), key=b"key")
WRONG = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "account"),
    [
        (b"\0acme\0wile-e", ACME),
        (b"acme\0acme\0wile-e", ACME),
        ("\0jörg\0paßwort".encode(), UMLAUT),
    ],
)
def test_a_token_proves_its_account(token: bytes, account: Account) -> None:
    server = PlainServer(ACCOUNTS)

    assert server.respond(token) == b""
    assert server.account is account


@pytest.mark.parametrize(
    "token",
    [
        b"\0acme\0wile",
        b"\0acme\0wile-e ",
        b"\0acme\0",
        b"\0\0",
        b"\0ACME\0wile-e",
        b"\0unknown\0wile-e",
        "\0jörg\0paßwort".encode("latin-1"),
        b"\0" + b"x" * 100_000 + b"\0wile-e",
        b"globex\0acme\0wrong",
    ],
)
def test_a_wrong_token_does_not_say_which_part_is_wrong(token: bytes) -> None:
    server = PlainServer(ACCOUNTS)

    with pytest.raises(AuthenticationFailed) as caught:
        server.respond(token)

    assert str(caught.value) == WRONG
    assert server.account is None


@pytest.mark.parametrize("token", [b"", b"acme", b"\0acme", b"acme\0wile-e", b"\0acme\0wile-e\0", b"\0" * 3])
def test_a_token_has_three_parts(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="expected 3 tokens"):
        PlainServer(ACCOUNTS).respond(token)


def test_no_user_acts_for_another() -> None:
    server = PlainServer(ACCOUNTS)

    with pytest.raises(AuthenticationFailed, match="authorization id that is different from username"):
        server.respond("jörg\0acme\0wile-e".encode())

    assert server.account is None


def test_each_mechanism_has_its_exchange() -> None:
    accounts = Accounts([account_of("acme")], key=b"key")
    settings = SaslSettings(accounts, new_nonce=lambda: "nonce", now_ms=lambda: 0)

    assert isinstance(new_exchange(Mechanism.PLAIN, settings), PlainServer)
    for mechanism in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512):
        exchange = new_exchange(mechanism, settings, is_again=True)
        assert isinstance(exchange, ScramServer)
        with pytest.raises(AuthenticationFailed, match=f"re-authentication due to .* mechanism {mechanism}$"):
            exchange.respond(b"")


def test_a_token_has_a_largest_size_which_is_looked_at_before_all_else() -> None:
    fits = b"\0acme\0" + b"x" * (MAX_PLAIN_BYTES - 6)
    with pytest.raises(AuthenticationFailed) as just_wrong:
        PlainServer(ACCOUNTS).respond(fits)
    with pytest.raises(AuthenticationFailed) as too_large:
        PlainServer(ACCOUNTS).respond(fits + b"x")

    assert str(just_wrong.value) == str(too_large.value) == WRONG
    assert just_wrong.value.detail == WRONG_CREDENTIALS
    assert too_large.value.detail == f"a PLAIN token of {MAX_PLAIN_BYTES + 1} bytes, at most 8192 are read"


def test_a_user_name_has_a_longest_length() -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        PlainServer(ACCOUNTS).respond(b"\0" + b"x" * 257 + b"\0secret")

    assert caught.value.detail == "a user name of 257 characters, at most 256 are read"


SALTED = Account(
    "road",
    "runner",
    verifiers={
        Mechanism.SCRAM_SHA_256: ScramVerifier.derive(
            Mechanism.SCRAM_SHA_256, b"beep", b"a salt of 16 byt", 4096
        )
    },
)
ONLY_SALTED = Accounts((SALTED,), key=b"key")


@pytest.mark.parametrize("name", ["road", "unknown"])
def test_no_token_derives_a_verifier_before_it_is_told_to(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def derive(_self: ScramVerifier, _password: bytes) -> bool:
        raise AssertionError("this takes milliseconds")

    monkeypatch.setattr(ScramVerifier, "matches", derive)
    server = PlainServer(ONLY_SALTED)

    for _ in range(2):
        with pytest.raises(PasswordIsChecked) as caught:
            server.respond(b"\0%s\0beep" % name.encode())

    assert not caught.value.check.is_done
    assert caught.value.check.account is None
    assert "beep" not in repr(caught.value) + repr(caught.value.check)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"\0road\0beep", None),
        (b"\0road\0beeb", WRONG),
        (b"\0unknown\0beep", WRONG),
        (b"globex\0road\0beep", OTHER_AUTHORIZATION_ID),
    ],
)
def test_a_token_is_decided_when_its_password_was_checked(token: bytes, text: str | None) -> None:
    server = PlainServer(ONLY_SALTED)
    with pytest.raises(PasswordIsChecked) as waits:
        server.respond(token)

    waits.value.check.run()

    if text is None:
        assert (server.respond(token), server.account) == (b"", SALTED)
        return
    with pytest.raises(AuthenticationFailed) as caught:
        server.respond(token)
    assert (str(caught.value), server.account) == (text, None)


def test_a_check_that_breaks_refuses() -> None:
    check = ONLY_SALTED.check("road", b"beep")
    check._verifier = object()  # type: ignore[assignment]

    with pytest.raises(AttributeError):
        check.run()

    assert check.is_done
    assert check.account is None

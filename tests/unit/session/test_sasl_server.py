import pytest

from bifrost.config.secrets import Secret
from bifrost.session.sasl_server import Account, AuthenticationFailed, authenticate_plain

ACME = Account("acme", "acme", Secret(b"wile-e"))
UMLAUT = Account("jörg", "globex", Secret("paßwort".encode()))
ACCOUNTS = {account.username: account for account in (ACME, UMLAUT)}
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
    assert authenticate_plain(token, ACCOUNTS) is account


@pytest.mark.parametrize(
    "token",
    [
        b"\0acme\0wile",
        b"\0acme\0wile-e ",
        b"\0acme\0",
        b"\0\0",
        b"\0ACME\0wile-e",
        b"\0nobody\0wile-e",
        "\0jörg\0paßwort".encode("latin-1"),
        b"\0" + b"x" * 100_000 + b"\0wile-e",
        b"globex\0acme\0wrong",
    ],
)
def test_a_wrong_token_does_not_say_which_part_is_wrong(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        authenticate_plain(token, ACCOUNTS)

    assert str(caught.value) == WRONG


@pytest.mark.parametrize("token", [b"", b"acme", b"\0acme", b"acme\0wile-e", b"\0acme\0wile-e\0", b"\0" * 3])
def test_a_token_has_three_parts(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="expected 3 tokens"):
        authenticate_plain(token, ACCOUNTS)


def test_nobody_is_somebody_else() -> None:
    with pytest.raises(AuthenticationFailed, match="authorization id that is different from username"):
        authenticate_plain("jörg\0acme\0wile-e".encode(), ACCOUNTS)


def test_an_unknown_user_is_compared_with_a_password_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(Secret, "matches", lambda self, candidate: compared.append(candidate))

    with pytest.raises(AuthenticationFailed):
        authenticate_plain(b"\0nobody\0guess", ACCOUNTS)

    assert compared == [b"guess"]

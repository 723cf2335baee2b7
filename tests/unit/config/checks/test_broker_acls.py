from typing import Any

from bifrost.config.checks.broker_acls import MAX_ACCOUNTS
from bifrost.config.checks.clashes import find_clashes


def user(name: str, account: str | None) -> dict[str, Any]:
    own = {} if account is None else {"upstream_sasl": {"username": account, "password_file": "p"}}
    return {"username": name, "password_file": "p", **own}


def found(*users: dict[str, Any], mode: str = "broker", other: str = "globex", **auth: Any) -> list[Any]:
    """Return what is wrong with a tenant that has these users, beside one with the account `other`."""
    config = {
        "proxy": {"listener_sets": [{"name": "only", "security_protocol": "SASL_PLAINTEXT"}]},
        "upstream": {
            "bootstrap": ["one.example:9092"],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl": {"username": "gateway", "password_file": "p"},
        },
        "tenants": [
            {"name": "acme", "acls": {"mode": mode}, "auth": {"credentials": list(users), **auth}},
            {"name": "globex", "auth": {"credentials": [user("g", other)]}},
        ],
    }
    return [(one.loc[3:], one.text) for one in find_clashes(config)]


def test_users_with_accounts_of_their_own_are_accepted() -> None:
    assert found(user("shop", "acme-shop"), user("clerk", "acme-clerk")) == []
    assert found(user("shop", None), mode="gateway") == []


def test_a_user_without_an_account_is_refused() -> None:
    [(loc, text)] = found(user("shop", "acme-shop"), user("clerk", None))

    assert loc == ("credentials", 1)
    assert "needs an upstream_sasl with a username" in text


def test_an_account_that_others_have_too_is_refused() -> None:
    for other, words in (
        ("acme-shop", "tenants.1.auth.credentials.0.upstream_sasl.username"),
        ("gateway", "upstream.sasl.username"),
    ):
        name = "acme-shop" if other == "acme-shop" else "gateway"
        [(loc, text)] = found(user("shop", name), other=other if other == name == "acme-shop" else "globex")

        assert loc == ("credentials", 0, "upstream_sasl", "username")
        assert words in text
    twice = found(user("shop", "a"), user("clerk", "a"))
    assert [loc[:2] for loc, _ in twice] == [("credentials", 0), ("credentials", 1)]


def test_users_who_can_have_no_account_are_refused() -> None:
    [(loc, text)] = found(user("shop", "acme-shop"), principals=["CN=x"])

    assert loc == ("principals",)
    assert "not for acls.mode: broker" in text


def test_there_is_a_most_of_users() -> None:
    users = [user(f"u{number}", f"a{number}") for number in range(MAX_ACCOUNTS + 1)]

    assert found(*users[:-1]) == []
    assert found(*users) == [(("credentials",), f"at most {MAX_ACCOUNTS} users with acls.mode: broker")]

from typing import Any

import pytest

from bifrost.config.checks.clashes import find_clashes


def found(*tenants: dict[str, Any], has_state: bool = True) -> list[tuple[object, str]]:
    """Return what is wrong with these tenants' sections `auth`."""
    config = {
        "proxy": {
            "listener_sets": [{"name": "only", "security_protocol": "SASL_PLAINTEXT"}],
            **({"state": {}} if has_state else {}),
        },
        "upstream": {"bootstrap": ["one.example:9092"]},
        "tenants": [
            {"name": f"tenant{number}", "auth": {"principals": [f"p{number}"], **auth}}
            for number, auth in enumerate(tenants)
        ],
    }
    return [(one.loc, one.text) for one in find_clashes(config)]


def users(prefix: str, **auth: Any) -> dict[str, Any]:
    return {"stored_users": {"name_prefix": prefix}, **auth}


def at(tenant: int, *more: str) -> tuple[object, ...]:
    return ("tenants", tenant, "auth", "stored_users", *more)


def test_prefixes_that_are_apart_are_accepted() -> None:
    assert found(users("a-", principals=["a-1"]), users("b-"), {}) == []


def test_users_need_a_state() -> None:
    [(loc, text)] = found(users("a-"), has_state=False)

    assert loc == at(0)
    assert "proxy.state" in text


@pytest.mark.parametrize(("one", "other"), [("a-", "a-"), ("a-", "a-b-"), ("a-b-", "a-")])
def test_prefixes_that_overlap_are_refused(one: str, other: str) -> None:
    [(loc, text)] = found(users(one), users(other))

    assert loc == at(1, "name_prefix")
    assert "overlap" in text


@pytest.mark.parametrize(
    "auth", [{"principals": ["a-x"]}, {"credentials": [{"username": "a-x", "password_file": "p"}]}]
)
def test_another_tenants_user_with_the_prefix_is_refused(auth: dict[str, Any]) -> None:
    [(loc, text)] = found(users("a-"), auth)

    assert loc == at(0, "name_prefix")
    assert "the user a-x of tenants[1]" in text

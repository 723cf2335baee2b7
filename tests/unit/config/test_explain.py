import pytest
from pydantic import ValidationError

from bifrost.config.explain import explain, section_at, show_loc
from bifrost.config.fields.limits import Limits
from bifrost.config.fields.tenants import Credential, Tenant
from bifrost.config.model import Config


def explained(data: object) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(data)
    return {show_loc(loc): text for loc, text in explain(caught.value, data, Config)}


def test_places_are_shown_as_in_the_file() -> None:
    assert show_loc(("tenants", 0, "auth")) == "tenants[0].auth"
    assert show_loc(()) == "the file"
    assert show_loc(("a b: c",)) == "this key"


def test_sections_are_found_through_lists_and_options() -> None:
    assert section_at(Config, ()) is Config
    assert section_at(Config, ("tenants", 3)) is Tenant
    assert section_at(Config, ("tenants", 3, "auth", "credentials", 0)) is Credential
    assert section_at(Config, ("proxy", "limits")) is Limits
    assert section_at(Config, ("proxy", "nothing", "x")) is None
    assert section_at(Config, ("tenants", 0, "name")) is None


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"max_connections": 0}, "proxy.limits.max_connections: must be at least 1, found the number 0"),
        (
            {"max_connections": 10**7},
            "proxy.limits.max_connections: must be at most 1000000, found the number 10000000",
        ),
        (
            {"max_connections": "many"},
            "proxy.limits.max_connections: expected a whole number, without quotes, found the text 'many'",
        ),
        (
            {"max_connections": {}},
            "proxy.limits.max_connections: expected a whole number, without quotes, found a mapping",
        ),
        (
            {"metadata_refresh_ms": "30"},
            "proxy.limits.metadata_refresh_ms: write a whole number of milliseconds, or a number with one of ms, s, "
            "min, h, e.g. 10s",
        ),
        ({"max-connection": 5}, "proxy.limits.max-connection: unknown key; did you mean max_connections?"),
        (7, "proxy.limits: expected a mapping of keys to values, found the number 7"),
    ],
)
def test_limits(limits: object, expected: str) -> None:
    assert expected in explained({"proxy": {"limits": limits}}).values()


def test_too_many_entries() -> None:
    texts = explained({"upstream": {"bootstrap": ["a:1"] * 65}})

    assert texts["upstream.bootstrap"] == "upstream.bootstrap: has 65 entries, at most 64 are allowed"


def test_a_list_whose_entries_are_all_wrong_is_not_called_empty() -> None:
    assert "upstream.bootstrap" not in explained({"upstream": {"bootstrap": ["a"]}})
    assert (
        explained({"upstream": {"bootstrap": []}})["upstream.bootstrap"]
        == "upstream.bootstrap: is empty: add one"
    )


def test_what_stands_under_credentials_is_never_repeated() -> None:
    texts = explained(
        {
            "tenants": [
                {
                    "auth": {
                        "credentials": [
                            {"username": 1234567, "password_file": ["hunter2"]},
                            "hunter2",
                            1234567,
                        ]
                    }
                }
            ]
        }
    )

    assert "hunter2" not in str(texts)
    assert "1234567" not in str(texts)
    assert texts["tenants[0].auth.credentials[1]"].endswith(
        "expected a mapping of keys to values, found a text"
    )

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.oauth import Algorithm, OAuth
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML, problems_of

ISSUER = "https://login.example.com/realms/kafka"
GOOD: dict[str, Any] = {"issuer": ISSUER, "audience": ["kafka"]}


def test_who_says_who_and_for_whom_gets_kafkas_defaults() -> None:
    oauth = OAuth.model_validate(GOOD)

    assert (oauth.principal_claim, oauth.namespace_claim, oauth.scope) == ("sub", None, ())
    assert (oauth.clock_skew_ms, oauth.jwks_refresh_ms) == (30_000, 3_600_000)
    assert oauth.algorithms == tuple(Algorithm)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"audience": []}, "says of no audience that it is meant: add audience"),
        ({"any_audience": True}, "has both audience and any_audience"),
        ({"jwks_url": "https://a/b", "jwks_file": "c"}, "has both jwks_url and jwks_file"),
        ({"issuer": "kafka"}, "issuer is no URL that could be asked for its keys"),
        ({"jwks_max_age_ms": "1min"}, "is less than jwks_refresh_ms 3600000"),
        ({"jwks_url": "file:///etc/keys"}, "is no URL that can be asked"),
        ({"jwks_url": "https://user:password@host/"}, "is no URL that can be asked"),
        ({"jwks_url": "https://host/#there"}, "is no URL that can be asked"),
        ({"jwks_url": "https:///path"}, "is no URL that can be asked"),
        ({"jwks_url": "https://host/a b"}, "is no URL that can be asked"),
        ({"jwks_url": "https://host/\r\nX: y"}, "is no URL that can be asked"),
        ({"principal_claim": "a\nb"}, "has control characters"),
        ({"scope": ["read write"]}, "pattern"),
        ({"scope": ['"']}, "pattern"),
        ({"algorithms": []}, "at least 1"),
        ({"algorithms": ["none"]}, "Input should be"),
        ({"algorithms": ["HS256"]}, "Input should be"),
        ({"max_token_bytes": "1MiB"}, "less than or equal to 262144"),
    ],
)
def test_what_would_let_in_too_many_clients_or_none_is_refused(
    changed: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValidationError, match=expected):
        OAuth.model_validate({**GOOD, **changed})


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8080/kafka/jwks", "https://[::1]/", "https://host", "https://host:1/a?b=c&d=%20"],
)
def test_urls_that_can_be_asked(url: str) -> None:
    assert OAuth.model_validate({**GOOD, "issuer": "anything", "jwks_url": url}).jwks_url == url


def section(text: str) -> str:
    return PROXY_YAML.replace("upstream:", f"  oauth: {text}\nupstream:")


def test_files_are_found_beside_the_configuration_and_their_paths_made_absolute(folder: Path) -> None:
    (folder / "keys.json").write_text("{}")
    (folder / "proxy.yaml").write_text(section("{issuer: x, audience: [kafka], jwks_file: keys.json}"))

    oauth = load("proxy.yaml").proxy.oauth

    assert oauth is not None
    assert oauth.jwks_file == str(folder / "keys.json")


def test_what_is_wrong_is_told_with_its_line(folder: Path) -> None:
    text = section("{issuer: x, audience: kafka, jwks_file: keys.json, ca_file: ., more: 1}")

    assert problems_of(folder, text) == [
        f"proxy.yaml:10: proxy.oauth.jwks_file: file of keys {folder}/keys.json: no such file",
        f"proxy.yaml:10: proxy.oauth.ca_file: file of certificates {folder}: a directory, not a file",
        "proxy.yaml:10: proxy.oauth.audience: expected a list, found the text 'kafka'",
        "proxy.yaml:10: proxy.oauth.more: unknown key; known here: " + ", ".join(sorted(OAuth.model_fields)),
    ]

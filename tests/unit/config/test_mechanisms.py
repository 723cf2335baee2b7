from typing import Any

import pytest

from bifrost.config.mechanisms import unusable_mechanisms
from bifrost.config.model import Config

OAUTH: dict[str, Any] = {"issuer": "https://login.example.com", "audience": ["kafka"]}
PASSWORD = {"credentials": [{"username": "acme", "password_file": "f"}]}


def reasons(mechanisms: list[str], auth: dict[str, Any], **proxy: Any) -> list[str]:
    port_range = {
        "advertised_host": "h",
        "bootstrap_port": 1,
        "broker_port_range": {"start": 2, "end": 3},
    }
    listener_set = {"name": "l", "port_range": port_range, "sasl_mechanisms": mechanisms}
    config = Config.model_validate(
        {
            "proxy": {"listener_sets": [listener_set], **proxy},
            "upstream": {"bootstrap": ["h:1"]},
            "tenants": [{"name": "acme", "auth": auth}],
        }
    )
    found = list(unusable_mechanisms(config))
    assert all(loc[:4] == ("proxy", "listener_sets", 0, "sasl_mechanisms") for loc, _ in found)
    return [reason for _, reason in found]


def test_what_some_client_can_use_is_not_complained_of() -> None:
    assert reasons(["PLAIN"], PASSWORD) == []
    users = {**PASSWORD, "stored_users": {"name_prefix": "acme-"}}
    assert reasons(["SCRAM-SHA-256", "SCRAM-SHA-512"], users, state={}) == []
    assert reasons(["OAUTHBEARER"], {"principals": ["alice"]}, oauth=OAUTH) == []
    assert reasons(["OAUTHBEARER"], {}, oauth={**OAUTH, "namespace_claim": "tenant"}) == []


@pytest.mark.parametrize(
    ("mechanism", "auth", "proxy", "expected"),
    [
        ("PLAIN", {"principals": ["alice"]}, {}, "no tenant has credentials"),
        ("SCRAM-SHA-256", PASSWORD, {}, "no credential can use SCRAM-SHA-256"),
        ("OAUTHBEARER", {"principals": ["alice"]}, {}, "needs the section proxy.oauth"),
        ("OAUTHBEARER", PASSWORD, {"oauth": OAUTH}, "no client can use OAUTHBEARER: add principals"),
        ("GSSAPI", {"principals": ["alice"]}, {}, "needs the section proxy.kerberos"),
    ],
)
def test_what_no_client_can_use_is_told_with_the_remedy(
    mechanism: str, auth: dict[str, Any], proxy: dict[str, Any], expected: str
) -> None:
    [reason] = reasons([mechanism], auth, **proxy)

    assert expected in reason
    assert "remove" in reason

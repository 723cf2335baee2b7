from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.control import Control, ControlAdmin, Role
from bifrost.config.secrets import Secret

DIGEST = "8b7df143d91c716ecfa5fc1730022f6b421b05cedee8fd52b1fc65a96030ad52"
ADMIN = {"name": "alice", "token_sha256": DIGEST}
TLS = {
    "certificate_file": "a.pem",
    "key_file": "a.key",
    "client_auth": "requested",
    "client_ca_file": "ca.pem",
}


def section(**more: Any) -> dict[str, Any]:
    return {"port": 9405, "admins": [ADMIN], **more}


def test_the_defaults_are_the_safe_ones() -> None:
    made = Control.model_validate(section())

    assert (made.bind_host, made.tls, made.admins[0].role) == ("127.0.0.1", None, Role.VIEWER)
    assert made.max_request_bytes == 1_048_576


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"token_file": "a", "token_sha256": DIGEST}, "two ways to give one token: remove one"),
        ({}, "an admin proves who it is by a token or a certificate: add token_file, token_sha256 or"),
        ({"token_sha256": "x"}, "token_sha256"),
        ({"token_sha256": DIGEST, "role": "root"}, "role"),
    ],
)
def test_an_admin_has_one_way_to_prove_who_it_is(more: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        ControlAdmin.model_validate({"name": "alice", **more})


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "control.internal", "::"])
def test_tokens_are_not_sent_readable_to_other_machines(host: str) -> None:
    with pytest.raises(ValidationError, match="tokens are readable without tls: add tls"):
        Control.model_validate(section(bind_host=host))

    assert Control.model_validate(section(bind_host=host, tls=TLS)).bind_host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_loopback_address_needs_no_tls(host: str) -> None:
    assert Control.model_validate(section(bind_host=host)).tls is None


def test_a_certificate_is_an_identity_only_if_it_is_asked_for() -> None:
    admins = [{"name": "ci", "certificate_principal": "CN=ci"}]

    for tls in (None, {"certificate_file": "a.pem", "key_file": "a.key"}):
        with pytest.raises(
            ValidationError, match="admin ci has a certificate_principal, and no certificate is"
        ):
            Control.model_validate(section(admins=admins, tls=tls))
    assert Control.model_validate(section(admins=admins, tls=TLS)).admins[0].verifier is None


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ({"name": "alice", "certificate_principal": "CN=b"}, "name"),
        ({"name": "bob", "token_sha256": DIGEST}, "token"),
        ({"name": "bob", "certificate_principal": "CN=a", "token_sha256": "0" * 64}, "certificate_principal"),
    ],
)
def test_no_two_admins_can_be_mistaken_for_each_other(second: dict[str, str], what: str) -> None:
    first = {**ADMIN, "certificate_principal": "CN=a"}

    with pytest.raises(ValidationError, match=f"two admins have the same {what}"):
        Control.model_validate(section(admins=[first, second], tls=TLS))


def test_a_verifier_checks_the_token_that_has_the_digest() -> None:
    admin = ControlAdmin.model_validate({"name": "a", "token_file": "a.token", "token": Secret(b"x" * 32)})

    assert admin.verifier is not None
    assert admin.verifier.matches(b"x" * 32)
    assert not admin.verifier.matches(b"x" * 31)

import hashlib
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.control import Role
from bifrost.control.access import Access, Asker
from bifrost.control.problem import Problem
from support.control.asking import TOKENS
from support.control.table_backend import settings_with
from support.identity.certificates import Authority


def access_of(folder: Path, **control: Any) -> Access:
    return Access(settings_with(folder, **control))


def test_a_token_is_that_of_one_admin(tmp_path: Path) -> None:
    access = access_of(tmp_path)

    alice = access.identify(f"Bearer {TOKENS['alice']}", None)
    bob = access.identify(f"bearer  {TOKENS['bob']} ", None)

    assert (alice.principal, alice.role) == ("Admin:alice", Role.OPERATOR)
    assert (bob.principal, bob.role) == ("Admin:bob", Role.VIEWER)


def test_a_token_may_be_known_by_its_digest_alone(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"x" * 40).hexdigest()
    access = access_of(tmp_path, admins=[{"name": "carol", "token_sha256": digest}])

    assert access.identify(f"Bearer {'x' * 40}", None).name == "carol"
    for other in (digest, "x" * 39):
        with pytest.raises(Problem):
            access.identify(f"Bearer {other}", None)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer ",
        "Basic " + TOKENS["alice"],
        TOKENS["alice"],
        f"Bearer {TOKENS['alice']}, Bearer x",
        "Bearer é",
    ],
)
def test_nothing_else_is_a_token(tmp_path: Path, header: str) -> None:
    with pytest.raises(Problem) as caught:
        access_of(tmp_path).identify(header, None)

    assert caught.value.status == 401


def test_a_certificate_is_mapped_by_the_rules(tmp_path: Path) -> None:
    authority = Authority("CA")
    authority.server("localhost").write(tmp_path / "tls", "server")
    authority.write(tmp_path / "tls/ca.pem")
    tls = {
        "certificate_file": "tls/server.pem",
        "key_file": "tls/server.key",
        "client_auth": "required",
        "client_ca_file": "tls/ca.pem",
        "principal_mapping_rules": "RULE:^CN=(.*)$/$1/L",
    }
    access = access_of(tmp_path, tls=tls, admins=[{"name": "ci", "certificate_principal": "ci"}])

    assert access.identify(None, authority.client("CI").der).name == "ci"
    for other in (authority.client("eve").der, authority.client("x" * 60).der, b"\x30\x00"):
        with pytest.raises(Problem):
            access.identify(None, other)


def test_only_an_operator_changes_anything() -> None:
    Asker("alice", Role.OPERATOR).check_operator()
    with pytest.raises(Problem, match="Admin:bob has the role viewer") as caught:
        Asker("bob", Role.VIEWER).check_operator()

    assert caught.value.status == 403


def test_no_token_is_shown(tmp_path: Path) -> None:
    settings = settings_with(tmp_path)

    assert TOKENS["alice"] not in repr(settings) + settings.model_dump_json()

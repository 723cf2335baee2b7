import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from bifrost.config.explain import section_at
from bifrost.config.fields.limits import Limits
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.model import Config
from bifrost.config.secrets import READ_FROM_FILES
from configuration_page import PAGE, main, page
from support.pages.examples import EXAMPLES, load_example

IN_PLACE_OF_OTHERS = {"jwks_file", "entry_point"}
"""Keys that exclude another one, which the full example has; there they are a comment."""


def sections(
    model: type[BaseModel] = Config, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield every section once, where it first stands in the file."""
    told: set[type[BaseModel]] = set()

    def below(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, type[BaseModel]]]:
        told.add(model)
        yield ".".join(path), model
        for field in model.model_fields:
            held = section_at(model, (field,))
            if held and held not in told:
                yield from below(held, (*path, field))

    yield from below(model, path)


def test_the_committed_page_is_what_the_tool_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run .venv/bin/python tools/configuration_page.py"
    assert main(["--check"]) == 0


def test_a_page_that_is_not_current_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.setattr("configuration_page.ROOT", tmp_path)
    monkeypatch.setattr("configuration_page.PAGE", tmp_path / "configuration.md")

    assert main(["--check"]) == 1
    assert "configuration.md is not current" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0


def test_every_setting_has_meaning_and_default() -> None:
    found = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page(), re.MULTILINE | re.DOTALL)
    parts = {heading.replace("[]", ""): body for heading, body in found}

    for path, model in sections():
        body = parts[path or "The file"]
        for name, field in model.model_fields.items():
            entry = re.search(rf"^\*\*`{name}`\*\* \((.*)\)  \n(.+)$", body, re.MULTILINE)
            assert entry, f"{path}.{name}"
            kind, text = entry.groups()
            assert len(text) > 20
            assert name in READ_FROM_FILES or re.search(
                "Required" if field.is_required() else "[Dd]efault", text
            ), name
            if isinstance(field.default, int) and not isinstance(field.default, bool):
                assert re.search(r"\bto\b", kind), name


def test_the_page_shows_the_file_that_users_write(tmp_path: Path) -> None:
    shown = page().split("```yaml\n")[1].split("```")[0]

    assert yaml.safe_load(shown) == yaml.safe_load((EXAMPLES / "proxy.yaml").read_text())
    assert [tenant.name for tenant in load_example("proxy.yaml", tmp_path).tenants] == ["acme", "globex"]


def test_the_full_example_has_every_key_and_its_limits_are_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bifrost.config.files.upstream_files.find_spec", lambda _name: object())

    def keys(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(inner)

    config = load_example("every-setting.yaml", tmp_path)

    expected = {name for _, model in sections() for name in model.model_fields} - READ_FROM_FILES
    assert expected >= IN_PLACE_OF_OTHERS
    expected -= IN_PLACE_OF_OTHERS
    assert set(keys(yaml.safe_load((EXAMPLES / "every-setting.yaml").read_text()))) == expected
    assert config.proxy.limits == Limits()


def test_the_example_of_scram_loads(tmp_path: Path) -> None:
    config = load_example("scram.yaml", tmp_path)

    assert config.proxy.listener_sets[0].sasl_mechanisms == (Mechanism.SCRAM_SHA_512,)
    assert [len(user.verifiers) for _, user in config.credentials()] == [2, 1, 2]
    assert [user.password is None for _, user in config.credentials()] == [True, False, True]


def test_the_example_of_tls_loads(tmp_path: Path) -> None:
    passwords, certificates = load_example("tls.yaml", tmp_path).proxy.listener_sets

    assert (passwords.security_protocol, certificates.security_protocol) == ("SASL_SSL", "SSL")
    assert certificates.tls is not None
    assert certificates.tls.client_ca_file == str(tmp_path / "tls/client-ca.pem")


def test_the_example_of_security_towards_brokers_loads(tmp_path: Path) -> None:
    config = load_example("upstream-security.yaml", tmp_path)

    assert config.clusters[0].security_protocol == "SASL_SSL"
    accounts = [config.clusters[0].sasl, *(tenant.upstream_sasl for tenant in config.tenants)]
    assert [one and one.username for one in accounts] == ["gateway", "acme", None]


def test_the_example_of_the_admin_api_loads(tmp_path: Path) -> None:
    control = load_example("control.yaml", tmp_path).proxy.control

    assert control is not None
    assert [one.name for one in control.admins] == ["alice", "dashboard", "ci"]


def test_the_examples_of_tokens_and_tickets_load(tmp_path: Path) -> None:
    for name, mechanism in (("oauth.yaml", Mechanism.OAUTHBEARER), ("kerberos.yaml", Mechanism.GSSAPI)):
        folder = tmp_path / mechanism
        folder.mkdir()
        config = load_example(name, folder)
        assert config.proxy.listener_sets[0].sasl_mechanisms == (mechanism,)
        assert list(config.credentials()) == []

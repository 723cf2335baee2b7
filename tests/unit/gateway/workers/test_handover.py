"""What a supervisor gives a worker."""

import pickle
from pathlib import Path

import pytest

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.model import Config
from bifrost.config.secrets import Secret
from bifrost.gateway.workers.handover import Handover, dumps, loads
from support.journal.loading import load
from support.pages.examples import load_example
from unit.cli.conftest import PROXY_YAML
from unit.gateway.test_gateway import CONFIG


def test_a_configuration_arrives_as_it_was_with_what_proves_passwords(tmp_path: Path) -> None:
    (tmp_path / "acme.password").write_text("hunter2\n")
    (tmp_path / "proxy.yaml").write_text(PROXY_YAML)
    config = load(tmp_path / "proxy.yaml")

    arrived = loads(dumps(Handover(config, b"key", {"acme": 2})))

    assert arrived.config == config
    assert (arrived.key, arrived.places) == (b"key", {"acme": 2})
    [credential] = arrived.config.tenants[0].auth.credentials
    assert credential.password is not None
    assert credential.password.matches(b"hunter2")
    assert credential.verifiers == config.tenants[0].auth.credentials[0].verifiers
    assert credential.verifiers


@pytest.mark.parametrize("name", ["every-setting.yaml", "scram.yaml", "proxy.yaml"])
def test_whatever_a_configuration_may_say_arrives(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bifrost.config.files.upstream_files.find_spec", lambda _name: object())
    config = load_example(name, tmp_path)

    arrived = loads(dumps(Handover(config, b"", {}))).config

    assert arrived == config
    assert arrived.model_dump() == config.model_dump()


def test_a_password_is_not_in_it_but_a_secret_of_the_gateways_own_is() -> None:
    tenants = [{**CONFIG["tenants"][0], "auth": {"credentials": [{"username": "u", "password_file": "f"}]}}]
    tenants[0]["auth"]["credentials"][0]["password"] = Secret(b"hunter2")
    config = Config.model_validate({**CONFIG, "tenants": tenants})

    content = dumps(Handover(config, b"key", {}))
    kept = loads(dumps(Handover(KeptSecret(b"brokers"), b"", {}))).config  # type: ignore[arg-type]

    assert b"hunter2" not in content
    assert isinstance(kept, KeptSecret)
    assert kept.reveal() == b"brokers"


def test_by_accident_nothing_is_pickled_and_nothing_printed() -> None:
    config = Config.model_validate(CONFIG)

    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(config)
    assert "hunter" not in repr(Handover(config, b"the key", {}))
    assert "the key" not in repr(Handover(config, b"the key", {}))

from pathlib import Path

import pytest

from bifrost.config.config_source import ConfigFiles, ConfigSource
from bifrost.config.errors import ConfigError
from support.journal.loading import SALT_KEY, load
from unit.cli.conftest import PROXY_YAML


@pytest.fixture
def source(tmp_path: Path) -> ConfigSource:
    (tmp_path / "acme.password").write_text("hunter2\n")
    (tmp_path / "proxy.yaml").write_text(PROXY_YAML)
    return ConfigFiles(tmp_path / "proxy.yaml", SALT_KEY)


def test_files_are_read_and_named_by_their_path(source: ConfigSource) -> None:
    assert source.read() == load(source.name)


def test_files_that_are_read_again_give_an_equal_configuration_with_the_same_key_only(
    source: ConfigSource,
) -> None:
    other = ConfigFiles(Path(source.name), b"the key of another process")

    assert source.read() == source.read()
    assert source.read() != other.read()
    assert [user.verifiers[0].matches(b"hunter2") for _, user in other.read().credentials()] == [True]
    assert "another process" not in repr(other)


def test_a_problem_has_its_file_and_line(source: ConfigSource) -> None:
    Path(source.name).write_text(PROXY_YAML + "colour: red\n")
    line = PROXY_YAML.count("\n") + 1

    with pytest.raises(ConfigError) as failed:
        source.read()

    assert f"{source.name}:{line}: " in str(failed.value)


def test_the_signature_changes_with_the_file_and_with_those_that_it_names(source: ConfigSource) -> None:
    config = source.read()
    parts = source.parts(config)
    seen = [source.signature(parts)]
    Path(source.name).write_text(PROXY_YAML + "\n")
    seen.append(source.signature(parts))
    (Path(source.name).parent / "acme.password").write_text("another\n")
    seen.append(source.signature(parts))

    assert len(set(seen)) == 3
    assert source.signature(parts) == seen[-1]

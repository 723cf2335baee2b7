from pathlib import Path
from typing import Any

import pytest

from bifrost.config.files.named_files import find_files


def test_paths_become_absolute_and_are_named(tmp_path: Path) -> None:
    oauth = {"jwks_file": "keys.json", "ca_file": "/etc/ca.pem"}
    data: dict[str, Any] = {"proxy": {"oauth": oauth}}

    found = list(find_files(data, tmp_path))

    assert [(loc[-1], path) for loc, _, path in found] == [
        ("jwks_file", tmp_path / "keys.json"),
        ("ca_file", Path("/etc/ca.pem")),
    ]
    assert oauth == {"jwks_file": str(tmp_path / "keys.json"), "ca_file": "/etc/ca.pem"}


def test_files_of_elements_of_lists_are_named_with_their_places(tmp_path: Path) -> None:
    config = {"registry_token_file": "token", "registry_ca_file": 5}
    data: dict[str, Any] = {"tenants": [{}, {"filters": [{"config": {}}, {"config": config}, 3]}]}

    [(loc, _, path)] = find_files(data, tmp_path)

    assert loc == ("tenants", 1, "filters", 1, "config", "registry_token_file")
    assert config["registry_token_file"] == str(path) == str(tmp_path / "token")


@pytest.mark.parametrize(
    "data",
    [{}, {"proxy": 5}, {"proxy": {"oauth": None}}, {"proxy": {"oauth": {"jwks_file": 5, "ca_file": ""}}}],
)
def test_what_is_none_is_passed_over(data: dict[str, Any], tmp_path: Path) -> None:
    assert list(find_files(data, tmp_path)) == []


def test_files_of_the_filters_of_each_tenant_are_named(tmp_path: Path) -> None:
    config = {"key_file": "keks", "vault": {"token_file": "/token", "ca_file": "ca.pem"}}
    data: dict[str, Any] = {"tenants": [5, {"filters": 5}, {"filters": [{"config": 5}, {"config": config}]}]}

    found = list(find_files(data, tmp_path))

    at = ("tenants", 2, "filters", 1, "config")
    assert [(loc, path) for loc, _, path in found] == [
        ((*at, "key_file"), tmp_path / "keks"),
        ((*at, "vault", "token_file"), Path("/token")),
        ((*at, "vault", "ca_file"), tmp_path / "ca.pem"),
    ]
    assert config["key_file"] == str(tmp_path / "keks")

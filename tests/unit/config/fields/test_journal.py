from pathlib import Path

import pytest
import yaml

from bifrost.config.errors import ConfigError
from bifrost.config.fields.journal import Journal
from support.journal.loading import load

TENANT = {"name": "acme", "upstream": "one", "auth": {"principals": ["alice"]}}
LISTENER = {
    "name": "only",
    "tenant": "acme",
    "security_protocol": "PLAINTEXT",
    "port_range": {
        "bind_host": "127.0.0.1",
        "advertised_host": "localhost",
        "bootstrap_port": 9092,
        "broker_port_range": {"start": 9093, "end": 9094},
    },
}


def check(
    tmp_path: Path, journal: dict[str, object] | None, upstreams: list[str], **more: object
) -> Journal | None:
    """Load a configuration with this section, these upstreams, and more keys of `proxy`."""
    proxy: dict[str, object] = {"listener_sets": [LISTENER]} | more
    if journal is not None:
        proxy["journal"] = journal
    clusters = [{"name": name, "bootstrap": [f"{name}.example:9092"]} for name in upstreams]
    path = tmp_path / "proxy.yaml"
    path.write_text(yaml.safe_dump({"proxy": proxy, "upstreams": clusters, "tenants": [TENANT]}))
    return load(path).proxy.journal


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    assert check(tmp_path, None, ["one"]) is None


def test_every_key_has_a_default(tmp_path: Path) -> None:
    section = check(tmp_path, {}, ["one"])

    assert section is not None
    assert (section.interval_ms, section.partitions, section.replication_factor) == (10_000, 12, -1)


def test_with_several_upstreams_one_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"proxy\.journal\.upstream is missing.*name one of one, two"):
        check(tmp_path, {}, ["one", "two"])

    assert check(tmp_path, {"upstream": "two"}, ["one", "two"]) == Journal(upstream="two")


def test_an_upstream_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"proxy\.journal\.upstream: no upstream is called three; there is one"
    ):
        check(tmp_path, {"upstream": "three"}, ["one"])


@pytest.mark.parametrize("workers", [1, 2, "auto"])
def test_any_number_of_workers_keeps_one(tmp_path: Path, workers: object) -> None:
    assert check(tmp_path, {}, ["one"], workers=workers) is not None

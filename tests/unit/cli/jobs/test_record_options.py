from pathlib import Path

import pytest
import typer

from bifrost.cli.jobs.record_options import (
    KekOptions,
    read_kek_options,
    read_scan_options,
    read_settings,
    read_tenants,
)
from bifrost.encryption.kek import Kek
from bifrost.pipeline.stored.kek_texts import KmsAccess


def test_what_is_read_comes_as_one_object() -> None:
    found = read_scan_options(
        bootstrap_servers="a:1", out="o", topic=["t"], pattern=["p.*"], since="2026-10-05", until=""
    )

    assert (found.settings.servers, found.out) == ((("a", 1),), "o")
    assert (found.topics, found.patterns) == (("t",), ("p.*",))
    assert (found.since_ms, found.until_ms) == (1_791_158_400_000, None)


def test_keks_get_the_job_s_credentials() -> None:
    found = read_kek_options(
        open_with=["vault:https://v#transit/pay"], cluster="c", vault_token_file="t", vault_namespace="n"
    )

    kek = Kek("vault", "pay", address="https://v", token_file="t", namespace="n")
    assert found == KekOptions((kek,), KmsAccess("t", "", "n"), "c")


def test_what_is_malformed_names_its_option(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=NONE\n")
    with pytest.raises(typer.BadParameter, match="is one of PLAINTEXT") as caught:
        read_settings("a:1", config)
    assert caught.value.param_hint == "--kafka-config"
    with pytest.raises(typer.BadParameter, match="is no HOST:PORT") as caught:
        read_settings("a", None)
    assert caught.value.param_hint == "--bootstrap-servers"
    with pytest.raises(typer.BadParameter, match="names no KEK") as caught:
        read_kek_options(open_with=["x"])
    assert caught.value.param_hint == "--open-with"


def test_the_tenants_of_an_upstream_are_read(config_file: Path) -> None:
    assert [one.name for one in read_tenants(config_file, "").tenants] == ["acme"]
    with pytest.raises(typer.BadParameter, match="has no upstream other"):
        read_tenants(config_file, "other")
    one = 'upstream:\n  bootstrap: ["kafka-1.internal:9092"]\n'
    two = 'upstreams:\n  - { name: a, bootstrap: ["x:1"] }\n  - { name: b, bootstrap: ["y:1"] }\n'
    text = config_file.read_text()
    assert one in text
    config_file.write_text(
        text.replace(one, two).replace("- name: acme\n", "- name: acme\n    upstream: b\n")
    )
    with pytest.raises(typer.BadParameter, match="has several"):
        read_tenants(config_file, "")
    assert [one.name for one in read_tenants(config_file, "b").tenants] == ["acme"]
    assert read_tenants(config_file, "a").tenants == ()

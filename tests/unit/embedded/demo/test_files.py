from __future__ import annotations

from pathlib import Path

from bifrost.embedded.demo.files import (
    Address,
    demo_tenants,
    hints,
    java_properties,
    kcat_config,
    write_files,
)
from bifrost.embedded.properties import read_properties
from support.journal.loading import load

ADDRESS = Address("127.0.0.1", 19092, 19093)


def test_gateway_takes_the_configuration(tmp_path: Path) -> None:
    acme, globex = demo_tenants()

    config = load(write_files(tmp_path, ADDRESS, "127.0.0.1:29092", [acme, globex]))

    port_range = config.proxy.listener_sets[0].port_range
    assert port_range.bind_host == port_range.advertised_host == "127.0.0.1"
    assert port_range.bootstrap_port == 19092
    assert port_range.broker_ports((0, 1, 2)) == {1: 19093}
    assert [str(broker) for broker in config.upstream.bootstrap] == ["127.0.0.1:29092"]
    assert [tenant.name for tenant in config.tenants] == ["acme", "globex"]
    assert config.tenants[0].allowed_topics == ("orders", "billing", "events", "audit.log")
    assert config.tenants[1].auth.credentials[0].username == "globex"
    assert config.tenants[1].auth.credentials[0].password.matches(globex.password.encode())


def test_passwords_are_new_each_time_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    tenants = demo_tenants()
    write_files(tmp_path, ADDRESS, "127.0.0.1:29092", tenants)

    assert len({tenant.password for tenant in [*tenants, *demo_tenants()]}) == 4
    for name in ("secrets/acme.password", "acme.properties", "acme.kcat", "read.py"):
        assert tmp_path.joinpath(name).stat().st_mode & 0o077 == 0


def test_writing_again_replaces_everything(tmp_path: Path) -> None:
    tenants = demo_tenants()
    write_files(tmp_path, ADDRESS, "127.0.0.1:29092", tenants)

    config = load(write_files(tmp_path, Address("127.0.0.1", 5, 6), "127.0.0.1:29092", tenants))

    assert config.proxy.listener_sets[0].port_range.bootstrap_port == 5


def test_client_settings_name_user_and_mechanism() -> None:
    acme = demo_tenants()[0]

    java = read_properties(java_properties(acme))
    kcat = read_properties(kcat_config(ADDRESS, acme))

    assert java["security.protocol"] == kcat["security.protocol"] == "SASL_PLAINTEXT"
    assert java["sasl.mechanism"] == kcat["sasl.mechanisms"] == "PLAIN"
    assert java["sasl.jaas.config"].endswith(f'required username="acme" password="{acme.password}";')
    assert (kcat["sasl.username"], kcat["sasl.password"]) == ("acme", acme.password)
    assert kcat["bootstrap.servers"] == "127.0.0.1:19092"


def test_python_script_compiles_and_knows_both_tenants(tmp_path: Path) -> None:
    tenants = demo_tenants()
    write_files(tmp_path, ADDRESS, "127.0.0.1:29092", tenants)

    source = tmp_path.joinpath("read.py").read_text()

    compile(source, "read.py", "exec")
    assert all(tenant.password in source for tenant in tenants)


def test_hints_name_files_that_exist(tmp_path: Path) -> None:
    tenants = demo_tenants()
    write_files(tmp_path, ADDRESS, "127.0.0.1:29092", tenants)

    lines = dict(hints(tmp_path, ADDRESS, tenants, "python3"))

    assert list(lines) == ["kcat", "python", "java"]
    for command in lines.values():
        files = [word for word in command.split() if word.startswith(str(tmp_path))]
        assert files
        assert all(Path(file).is_file() for file in files)
    assert lines["python"].startswith("python3 ")

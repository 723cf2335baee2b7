from pathlib import Path
from typing import Any

import pytest
from bench.proxies import Address, ProxiesError, load_proxies, read_proxies

EXAMPLE = Path(__file__).parents[3] / "bench/proxies.example.yaml"
ONE = {"name": "other", "bootstrap": "127.0.0.1:9092", "broker": "[::1]:9093", "pid": 7}


def _read(*proxies: Any, **changes: Any) -> Any:
    return read_proxies(
        {"kafka_port": 9000, "proxies": list(proxies), **changes}, Path("/folder"), {"p": "secret"}
    )


def test_a_proxy_has_a_name_two_addresses_and_a_process() -> None:
    found = _read(ONE)

    assert found.kafka_port == 9000
    assert found.proxies[0].bootstrap == Address("127.0.0.1", 9092)
    assert found.proxies[0].broker == Address("[::1]", 9093)
    assert found.proxies[0].process_id() == 7
    assert not found.proxies[0].renames_topics


def test_paths_start_at_the_file_s_folder(tmp_path: Path) -> None:
    without_pid = {key: value for key, value in ONE.items() if key != "pid"}
    more = {"pid_file": "run/pid", "ca_file": "ca.pem", "username": "u", "password_file": "p"}

    proxy = _read(without_pid | more).proxies[0]

    assert proxy.pid_file == Path("/folder/run/pid")
    assert proxy.ca_file == Path("/folder/ca.pem")
    assert proxy.credentials == ("u", "secret")
    with pytest.raises(ProxiesError, match="pid_file"):
        proxy.process_id()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pid": 0}, "no process ID"),
        ({"pid": "7"}, "no process ID"),
        ({"pid_file": "pid"}, "either pid or pid_file"),
        ({"username": "u"}, "both username and password_file"),
        ({"broker": "9093"}, "no host:port"),
        ({"broker": "host:0"}, "no port"),
        ({"broker": None}, "no host:port"),
        ({"brokr": "host:1"}, "unknown key 'brokr'"),
        ({"name": "gateway"}, "taken"),
        ({"name": None}, "no name"),
    ],
)
def test_what_is_wrong_with_a_proxy_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ProxiesError, match=said):
        _read(ONE | changes)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (None, "needs kafka_port and proxies"),
        ({"proxies": [ONE]}, "needs kafka_port and proxies"),
        ({"kafka_port": 1, "proxies": []}, "at least one"),
        ({"kafka_port": 70_000, "proxies": [ONE]}, "no port"),
        ({"kafka_port": 1, "proxies": [ONE, ONE]}, "taken"),
        ({"kafka_port": 1, "proxies": ["other"]}, "no name"),
    ],
)
def test_what_is_wrong_with_the_file_is_said(document: Any, said: str) -> None:
    with pytest.raises(ProxiesError, match=said):
        read_proxies(document, Path(), {})


def test_the_example_is_one_and_has_every_key(tmp_path: Path) -> None:
    (tmp_path / "proxies.yaml").write_text(EXAMPLE.read_text())
    (tmp_path / "another-proxy.password").write_text("secret\n")
    (tmp_path / "another-proxy.pid").write_text("12\n")

    first, second = load_proxies(tmp_path / "proxies.yaml").proxies

    assert first.process_id() == 4711
    assert second.process_id() == 12
    assert second.credentials == ("bench", "secret")
    assert second.renames_topics
    assert second.ca_file == tmp_path / "another-proxy-ca.pem"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProxiesError, match=r"none\.yaml"):
        load_proxies(tmp_path / "none.yaml")

"""What a reload does before anything changes; what it changes is in tests/kafka/operations/test_reload.py."""

import asyncio
import itertools
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.loop import steps
from bifrost.gateway.reload import reconfiguration as module
from bifrost.gateway.reload.reconfiguration import prepare
from bifrost.gateway.sockets.server_tls import ServerContexts
from support.identity.certificates import Authority

AUTHORITY = Authority("CA")


def configuration(folder: Path, tenants: int = 1, **tls: Any) -> Config:
    files = {"certificate_file": str(folder / "gateway.pem"), "key_file": str(folder / "gateway.key")}
    ports = {
        "advertised_host": "gw",
        "bootstrap_port": 9092,
        "broker_port_range": {"start": 9093, "end": 9095},
    }
    listener_set = {
        "name": "any",
        "security_protocol": "SSL",
        "tenant": "acme",
        "port_range": ports,
        "tls": files | {"client_auth": "none"} | tls,
    }
    return Config.model_validate(
        {
            "proxy": {"listener_sets": [listener_set]},
            "upstream": {"bootstrap": ["kafka-1:9092"]},
            "tenants": [
                {"name": "acme"},
                *(
                    {"name": f"t{number}", "auth": {"principals": [f"u{number}"]}, "namespaces": ["eu:de"]}
                    for number in range(1, tenants)
                ),
            ],
        }
    )


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    AUTHORITY.server("gateway").write(tmp_path, "gateway")
    return Gateway(configuration(tmp_path))


def test_certificates_are_read_in_a_thread_and_come_into_force_with_all_else(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[threading.Thread] = []

    def read(*arguments: Any) -> ServerContexts | None:
        readers.append(threading.current_thread())
        return contexts_of(*arguments)

    contexts_of = module.contexts_of
    monkeypatch.setattr(module, "contexts_of", read)
    [listener] = gateway.listeners
    before = listener.contexts

    prepared = asyncio.run(prepare(gateway, configuration(tmp_path, ciphers="ECDHE+AESGCM")))

    assert listener.contexts is before
    assert len(readers) == 1
    assert readers[0] is not threading.main_thread()
    asyncio.run(prepared._change_listeners())
    assert listener.contexts is prepared.contexts["any"] is not before


def longest_turn(folder: Path, tenants: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many functions the longest turn of the event loop calls in a reload, if each step is a turn."""
    monkeypatch.setattr(steps, "monotonic_ns", itertools.count(0, 1_000_000_000).__next__)
    monkeypatch.setattr(steps, "turn_until_ns", lambda _most_ns, _least_ns: 0)
    AUTHORITY.server("gateway").write(folder, "gateway")
    gateway = Gateway(configuration(folder, tenants))
    for tenant in gateway.config.tenants:  # All of them have sent something.
        gateway.shared.lanes.in_flight_limits.load(tenant.name)
        gateway.tenants.rooms.room(tenant.name)
    turns, calls = [0], [0]
    run = asyncio.Handle._run

    def count(_frame: object, event: str, _argument: object) -> None:
        calls[0] += event in ("call", "c_call")

    def counted(handle: asyncio.Handle) -> None:
        calls[0] = 0
        run(handle)
        turns.append(calls[0])

    async def scenario() -> None:
        sys.setprofile(count)
        await gateway.reconfigure(configuration_after)

    configuration_after = configuration(folder, tenants, ciphers="ECDHE+AESGCM")
    monkeypatch.setattr(asyncio.Handle, "_run", counted)
    try:
        asyncio.run(scenario())
    finally:
        sys.setprofile(None)
        monkeypatch.setattr(asyncio.Handle, "_run", run)
    return max(turns)


def test_no_turn_of_a_reload_grows_with_the_tenants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest_turn(tmp_path, 2, monkeypatch)  # The first one imports what it needs.

    few, many = (longest_turn(tmp_path, tenants, monkeypatch) for tenants in (20, 400))

    assert many <= few * 1.2


def test_certificates_that_have_not_changed_go_on(gateway: Gateway, tmp_path: Path) -> None:
    [listener] = gateway.listeners

    prepared = asyncio.run(prepare(gateway, configuration(tmp_path)))

    assert prepared.contexts == {"any": listener.contexts}


def test_certificates_that_cannot_be_used_any_more_refuse_the_reload(
    gateway: Gateway, tmp_path: Path
) -> None:
    (tmp_path / "gateway.key").unlink()
    [listener] = gateway.listeners
    before: ListenerSet = listener.listener_set

    with pytest.raises(StartError, match=r"listener any: tls\.key_file: file .*: no such file"):
        asyncio.run(prepare(gateway, configuration(tmp_path, ciphers="ECDHE+AESGCM")))

    assert listener.listener_set is before

"""The operator's port and the watch of the files change under a running gateway, of one process and of several."""

from __future__ import annotations

import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import ACME, HOST, free_ports
from support.gateways.reloadable_gateway import Reloadable

LIMIT_S = 30.0


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two workers"])
def gateway(
    request: pytest.FixtureRequest, kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reloadable]:
    """It looks at its files only when told to."""

    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"] |= {"watch_files_ms": 0, "workers": request.param}

    directory = tmp_path_factory.mktemp("admin-move")
    with Reloadable(directory, kafka.bootstrap, tenants=(ACME,), has_admin=True, adjust=adjust) as process:
        yield process


def is_ready(port: int) -> bool:
    """Whether an operator's port answers."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=10) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False


def logins(port: int) -> float:
    """Return how many clients have authenticated, by the metrics."""
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.split()[-1]) for line in lines if line.startswith("kafka_proxy_authentications_total{")
    )


def hang_up(gateway: Reloadable, change: Callable[[dict[str, Any]], None], event: str = "reloaded") -> Any:
    """Change the file and send SIGHUP; return the line about the reload."""
    gateway.change(change)
    since = gateway.mark()
    os.kill(gateway.pid, signal.SIGHUP)
    return gateway.await_event(since, event=event, timeout_s=LIMIT_S)


def at(**settings: Any) -> Callable[[dict[str, Any]], None]:
    return lambda configuration: configuration["proxy"].update(admin=settings)


def test_the_port_moves_and_the_counters_go_on(gateway: Reloadable) -> None:
    old, new = gateway.admin_port, free_ports(1)
    with RawClient.authenticated(gateway.broker_endpoint("acme")):
        before = logins(old)
        assert before > 0

        hang_up(gateway, at(port=new))

    assert (is_ready(new), is_ready(old)) == (True, False)
    assert logins(new) == before
    hang_up(gateway, at(port=old))
    assert (is_ready(new), is_ready(old)) == (False, True)


def test_the_command_says_what_to_do_when_the_port_has_moved(gateway: Reloadable) -> None:
    old, new = gateway.admin_port, free_ports(1)
    gateway.change(at(port=new))

    done = gateway.reload()

    assert done.returncode == 2
    advice = f"bifrost reload --config {gateway.path} --admin HOST:PORT"
    assert done.stderr.endswith(f"the gateway is still where it was before: say where, {advice}\n")
    assert (is_ready(new), is_ready(old)) == (False, True)

    done = gateway.reload("--admin", f"{HOST}:{old}")

    assert (done.returncode, done.stdout) == (0, "applied: the gateway goes on with it\n")
    assert (is_ready(new), is_ready(old)) == (True, False)
    gateway.change(at(port=old))
    assert gateway.reload("--admin", f"{HOST}:{new}").returncode == 0
    assert gateway.reload().stdout == "unchanged: nothing has changed\n"


def test_the_address_changes_and_the_number_stays(gateway: Reloadable) -> None:
    port = gateway.admin_port
    for host in ("0.0.0.0", "127.0.0.1"):
        since = gateway.mark()
        gateway.apply(at(port=port, bind_host=host))
        gateway.await_event(since, event="listening", listener="admin", address=f"{host}:{port}")
        assert is_ready(port)


def test_the_port_goes_and_comes_back(gateway: Reloadable) -> None:
    port = gateway.admin_port

    hang_up(gateway, lambda configuration: configuration["proxy"].pop("admin"))
    assert not is_ready(port)
    hang_up(gateway, at(port=port))
    assert is_ready(port)


def test_a_port_that_is_taken_refuses_the_reload_and_the_old_one_stays(
    gateway: Reloadable, kafka: EmbeddedKafka
) -> None:
    taken = int(kafka.bootstrap.rpartition(":")[2])

    def both(configuration: dict[str, Any]) -> None:
        at(port=taken)(configuration)
        configuration["proxy"].setdefault("limits", {})["max_connections"] = 1

    before = gateway.path.read_text()
    refused = hang_up(gateway, both, "reload_refused")

    gateway.path.write_text(before)
    assert f"admin: port {taken} on 127.0.0.1 is in use: end the program" in refused["error"]
    assert is_ready(gateway.admin_port)
    endpoint = gateway.broker_endpoint("acme")
    with RawClient.authenticated(endpoint), RawClient.authenticated(endpoint):
        pass  # Nothing of the configuration was applied.
    assert gateway.reload().stdout == "unchanged: nothing has changed\n"
    # Or the end of the gateway would take the refusal for a bug.
    gateway.log_file.write_text("")


def test_the_watch_of_the_files_is_turned_on_and_off(gateway: Reloadable) -> None:
    gateway.apply(lambda configuration: configuration["proxy"].update(watch_files_ms=100))
    since = gateway.mark()

    # Noticed by the gateway itself; this change is also the last one that it notices.
    gateway.change(lambda configuration: configuration["proxy"].update(watch_files_ms=0))
    gateway.await_event(since, event="reloaded", outcome="applied", timeout_s=LIMIT_S)

    since = gateway.mark()
    gateway.change(lambda configuration: configuration["proxy"].update(limits={"max_connections": 77}))
    time.sleep(1)
    assert [one for one in gateway.events(since) if one["event"] == "reloaded"] == []
    assert gateway.reload().stdout == "applied: the gateway goes on with it\n"

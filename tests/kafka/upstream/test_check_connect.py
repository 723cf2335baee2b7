"""What `bifrost check --connect` finds out about real brokers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.brokers.secure_kafka import DESCRIBE, USERS, SecureKafka
from support.gateways.gateway_process import HOST, free_ports
from support.gateways.secured_gateway import account
from support.physical_names import prefix_of

PORTS = {
    "advertised_host": "gw",
    "bootstrap_port": 9092,
    "broker_port_range": {"start": 9093, "end": 9095},
    "broker_id_base": 1,
}
OPEN = [{"name": "plain", "security_protocol": "PLAINTEXT", "tenant": "acme", "port_range": PORTS}]


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    """Ask about a configuration; return the exit status, standard output and standard error."""
    for user, password in USERS.items():
        (tmp_path / f"broker-{user}.password").write_text(password)
        (tmp_path / f"broker-{user}.password").chmod(0o600)

    def ask(
        upstream: dict[str, Any], *, ports: dict[str, Any] | None = None, **tenant: Any
    ) -> tuple[int, str, str]:
        listener = OPEN[0] | {"port_range": PORTS | (ports or {})}
        proxy = {"listener_sets": [listener], "limits": {"upstream_connect_timeout_ms": 20_000}}
        data = {"proxy": proxy, "upstream": upstream, "tenants": [{"name": "acme", **tenant}]}
        (tmp_path / "proxy.yaml").write_text(yaml.safe_dump(data).replace("secrets/", ""))
        command = [sys.executable, "-m", "bifrost.cli.main", "check", "--connect", "--config", "proxy.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout, done.stderr

    return ask


def secured(kafka: SecureKafka, user: str) -> dict[str, Any]:
    return {
        "bootstrap": [kafka.address("SASL")],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": account(user),
    }


def test_brokers_that_answer_are_described(secure_kafka: SecureKafka, asked: Any) -> None:
    status, output, errors = asked({"bootstrap": [secure_kafka.address("OWN")]})

    assert (status, errors) == (0, "")
    first, second = output.splitlines()
    assert first.startswith("proxy.yaml: ok: 1 listener set, ")
    assert second.startswith("ok: upstream upstream: brokers 1 answer, cluster ID ")
    assert "Produce up to v1" in second


def test_no_answer_is_an_error(asked: Any) -> None:
    port = free_ports(1)

    status, _, errors = asked({"bootstrap": [f"{HOST}:{port}"]})

    assert status == 1
    [line] = errors.splitlines()
    assert line.startswith(f"error: upstream upstream: {HOST}:{port}: ")


def test_a_base_that_covers_no_broker_is_an_error(secure_kafka: SecureKafka, asked: Any) -> None:
    status, output, errors = asked({"bootstrap": [secure_kafka.address("OWN")]}, ports={"broker_id_base": 2})

    assert (status, output.count("\n")) == (1, 2)
    assert errors == (
        "error: listener set plain: no broker has a port: the ports are for node IDs 2 to 4, and there are 1: "
        "mend broker_id_base\n"
    )


def test_accounts_are_tried(secure_kafka: SecureKafka, asked: Any, tmp_path: Path) -> None:
    own = account("alice")

    assert asked(secured(secure_kafka, "gateway"), upstream_sasl=own)[::2] == (0, "")

    (tmp_path / "broker-alice.password").write_text("wrong")
    status, _, errors = asked(secured(secure_kafka, "gateway"), upstream_sasl=own)
    assert status == 1
    assert errors.startswith("error: upstream upstream: account of tenant acme: ")
    assert "wrong" not in errors

    status, _, errors = asked(secured(secure_kafka, "alice"))
    assert (status, errors.count("\n")) == (1, 1)
    assert errors.startswith("error: upstream upstream: ")
    assert "wrong" not in errors


def test_topics_that_the_tenant_s_account_may_not_describe_are_told(
    secure_kafka: SecureKafka, asked: Any
) -> None:
    restricted = {"upstream_sasl": account("carol"), "allowed_topics": ["checked", "checked-2"]}

    status, _, errors = asked(secured(secure_kafka, "gateway"), **restricted)

    names = ", ".join(f"{prefix_of('acme')}{topic}" for topic in ("checked", "checked-2"))
    assert status == 1
    assert f"tenant acme may not describe {names}: give its account the ACL (2 topics)" in errors

    secure_kafka.allow("carol", f"{prefix_of('acme')}checked", DESCRIBE)
    assert asked(secured(secure_kafka, "gateway"), **restricted)[::2] == (0, "")


def test_more_replicas_of_the_journal_than_brokers_are_an_error(
    secure_kafka: SecureKafka, asked: Any, tmp_path: Path
) -> None:
    upstream = {"bootstrap": [secure_kafka.address("OWN")]}
    asked(upstream)
    data = yaml.safe_load((tmp_path / "proxy.yaml").read_text())
    data["proxy"]["journal"] = {"replication_factor": 3}
    data["proxy"]["state"] = {"replication_factor": 2}
    (tmp_path / "proxy.yaml").write_text(yaml.safe_dump(data))
    command = [sys.executable, "-m", "bifrost.cli.main", "check", "--connect", "-c", "proxy.yaml"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 1
    assert "replication_factor of the journal is 3, and there are 1 brokers" in done.stderr
    assert "replication_factor of the state is 2, and there are 1 brokers" in done.stderr

"""Debian's kcat, whose librdkafka is older than 2.6.1 and repeats its SCRAM nonce."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from bifrost.authentication.scram_server import REPEATED_NONCE
from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.skips.optional_parts import KCAT, lacks

TENANT = "acme"
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
FIXED_IN = (2, 6, 1)


@pytest.fixture(scope="module")
def kcat() -> str:
    program = shutil.which("kcat")
    if program is None:
        pytest.skip(lacks(KCAT))
    text = subprocess.run([program, "-V"], check=False, capture_output=True, text=True, timeout=30).stdout
    found = re.search(r"librdkafka (\d+)\.(\d+)\.(\d+)", text)
    assert found is not None, text
    if tuple(int(one) for one in found.groups()) >= FIXED_IN:
        pytest.skip(f"kcat has librdkafka {'.'.join(found.groups())}, which does not repeat its nonce")
    return program


@pytest.fixture(scope="module")
def gateway(
    request: pytest.FixtureRequest, kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    listener = {"allow_repeated_scram_nonce": True} if request.param else {}
    directory = tmp_path_factory.mktemp("kcat")
    tenants = (TenantSpec(TENANT),)
    with GatewayProcess(
        directory, kafka.bootstrap, tenants=tenants, mechanisms=MECHANISMS, listener=listener
    ) as process:
        yield process


def run(program: str, user: Endpoint, *options: str, sent: str = "") -> subprocess.CompletedProcess[str]:
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": user.mechanism,
        "sasl.username": user.username,
        "sasl.password": user.password,
    }
    flags = [part for key, value in settings.items() for part in ("-X", f"{key}={value}")]
    return subprocess.run(
        [program, "-b", user.bootstrap, *flags, *options],
        check=False,
        input=sent,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("gateway", [True], indirect=True, ids=["allowed"])
def test_kcat_writes_and_reads_where_its_nonce_is_allowed(
    kcat: str, gateway: GatewayProcess, fresh_topic: FreshTopic, mechanism: str
) -> None:
    fresh_topic(TENANT, "orders")
    user = gateway.endpoint(TENANT, mechanism)

    run(kcat, user, "-P", "-t", "orders", sent="from kcat\n").check_returncode()
    read = run(kcat, user, "-C", "-t", "orders", "-o", "beginning", "-c", "1", "-q")

    assert read.stdout == "from kcat\n"


@pytest.mark.parametrize("gateway", [True], indirect=True, ids=["allowed"])
def test_kcat_is_refused_with_a_wrong_password_all_the_same(kcat: str, gateway: GatewayProcess) -> None:
    right = gateway.endpoint(TENANT, MECHANISMS[0])
    wrong = Endpoint(right.host, right.port, right.username, "guess", right.mechanism)
    mark = gateway.mark()

    assert run(kcat, wrong, "-L", "-m", "5").returncode != 0
    gateway.await_event(mark, event="connection_ended", detail="wrong user name or password")


@pytest.mark.parametrize("gateway", [False], indirect=True, ids=["by-default"])
def test_kcat_is_refused_by_default_and_the_log_names_the_cause(kcat: str, gateway: GatewayProcess) -> None:
    mark = gateway.mark()

    refused = run(kcat, gateway.endpoint(TENANT, MECHANISMS[0]), "-L", "-m", "5")

    assert refused.returncode != 0
    assert "invalid credentials with SASL mechanism SCRAM-SHA-256" in refused.stderr
    gateway.await_event(mark, event="connection_ended", detail=REPEATED_NONCE)

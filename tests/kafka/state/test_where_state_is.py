"""Where a gateway keeps its state: in topics of the cluster, of which it creates none that it does not need, and
nowhere on its own disk.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AlterClientQuotasRequest, CreateAclsRequest, MetadataRequest
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, produce_request, topic_id_of
from support.clients.record_batches import build_batch
from support.control.control_process import ControlProcess
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GLOBEX, GatewayProcess, TenantSpec
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(240)

MARK = "WRITES "
WATCH = f"""
import os, sys

CHANGES = {{"os.mkdir", "os.rename", "os.link", "os.symlink", "tempfile.mkstemp", "tempfile.mkdtemp"}}

def watch(event, arguments):
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    if event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & writes):
        os.write(2, f"{MARK}{{event}} {{arguments!r}}\\n".encode())

sys.addaudithook(watch)
"""
"""What Python runs at the start of each process (`site`): it tells every file that is opened to be written, and every
other change of a directory."""

WRITABLE = ("/dev/null",)
ADMIN = TenantSpec("admin-of-acls", allow_quota_changes=True)


def physical_topics(kafka: EmbeddedKafka) -> set[str]:
    return set(AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=20).topics)


def use(gateway: GatewayProcess, tenant: str, topic: str) -> None:
    """Produce to a topic, and read it."""
    with RawClient.authenticated(gateway.broker_endpoint(tenant)) as client:
        produced = client.request(produce_request(topic, build_batch([b"v"])), 9)
        assert produced.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        read(client, topic)


def read(client: RawClient, topic: str) -> None:
    fetched = client.request(fetch_request(topic, topic_id=topic_id_of(client, topic)), 13)
    assert fetched.responses[0].partitions[0].records


@pytest.mark.parametrize("workers", [1, 2])
def test_a_gateway_without_dynamic_features_creates_no_topic(
    kafka: EmbeddedKafka, fresh_topic: FreshTopic, start_gateway: StartGateway, workers: int
) -> None:
    fresh_topic("globex", "no-state")
    before = physical_topics(kafka)

    gateway = start_gateway(proxy={"workers": workers})
    use(gateway, "globex", "no-state")
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        client.request(MetadataRequest(topics=None), 12)
    time.sleep(2)  # What a gateway does in the background has begun by then.

    assert physical_topics(kafka) == before


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Directories of the processes that the test starts, which tell what they write: home, temporary, working."""
    found = [tmp_path / name for name in ("home", "tmp", "cwd")]
    for one in found:
        one.mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(WATCH)
    home, temporary, working = found
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home))
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(temporary))
    path = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), *([path] if path else [])]))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.chdir(working)
    return found


def change_acls(client: RawClient) -> None:
    creation = CreateAclsRequest.AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name="on-disk",
        resource_pattern_type=PatternType.LITERAL,
        principal="User:reader",
        host="*",
        operation=Operation.READ,
        permission_type=Permission.ALLOW,
    )
    [answer] = client.request(CreateAclsRequest(creations=[creation]), 3).results
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def change_quotas(client: RawClient) -> None:
    message = AlterClientQuotasRequest
    entry = message.EntryData(
        entity=[message.EntityData(entity_type="user", entity_name="reader")],
        ops=[message.OpData(key="producer_byte_rate", value=1e6, remove=False)],
    )
    [answer] = client.request(message(entries=[entry], validate_only=False), 1).entries
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def files_being_written(pid: int) -> set[str]:
    """Return the regular files that a process and its children have open to write."""
    found, pids = set(), [pid]
    for one in pids:
        for thread in Path(f"/proc/{one}/task").iterdir():
            pids.extend(int(child) for child in (thread / "children").read_text().split())
        for fd in Path(f"/proc/{one}/fd").iterdir():
            try:
                is_file = stat.S_ISREG(fd.stat().st_mode)
                info = (Path(f"/proc/{one}/fdinfo") / fd.name).read_text()
            except OSError:
                continue  # It was closed meanwhile.
            flags = int(info.partition("flags:")[2].split()[0], 8)
            name = str(fd.readlink())
            if is_file and flags & os.O_ACCMODE != os.O_RDONLY and not name.startswith("/memfd:"):
                found.add(name)  # A memfd is the memory that workers share.
    return found


def told_writes(log: str) -> list[str]:
    lines = [line for line in log.splitlines() if line.startswith(MARK)]
    return [line for line in lines if not any(f"('{one}'" in line for one in WRITABLE)]


def test_a_gateway_with_a_state_writes_no_file(
    kafka: EmbeddedKafka,
    fresh_topic: FreshTopic,
    start_gateway: StartGateway,
    places: list[Path],
    tmp_path: Path,
) -> None:
    topic = f"__state-{time.time_ns()}"

    def adjust(configuration: dict[str, Any]) -> None:
        tenant = next(one for one in configuration["tenants"] if one["name"] == ADMIN.name)
        tenant["acls"] = {"super_users": [f"User:{ADMIN.name}"]}

    fresh_topic(ADMIN.name, "on-disk")
    gateway = start_gateway(
        tenants=(ADMIN, GLOBEX),
        has_admin=True,
        proxy={
            "state": {"topic": topic},
            "quota_exchange": {"topic": f"{topic}-quotas"},
            "journal": {},
            "workers": 2,
        },
        adjust=adjust,
    )
    tenants = [{"name": ADMIN.name}, {"name": "globex"}]
    with ControlProcess(tmp_path / "control", kafka.bootstrap, topic, tenants=tenants) as control:
        created = control.command("namespaces", "create", f"{ADMIN.name}:eu:de")
        assert created[0] == 0, created
        shared = control.command("topics", "share", f"{ADMIN.name}/on-disk", "--with", "globex", "--as", "p")
        assert shared[0] == 0, shared
        with RawClient.authenticated(gateway.broker_endpoint(ADMIN.name)) as client:
            change_acls(client)
            change_quotas(client)
        use(gateway, ADMIN.name, "on-disk")
        await_value(lambda: value(gateway, "kafka_proxy_state_records") >= 6, True)
        with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
            read(client, "p")
        assert files_being_written(gateway.pid) == {str(gateway.log_file)}
        assert topic in physical_topics(kafka)
        assert physical_name(ADMIN.name, "on-disk") in physical_topics(kafka)
    assert told_writes(gateway.log()) == []
    assert told_writes(control.log_file.read_text()) == []
    assert [list(one.rglob("*")) for one in places] == [[], [], []]

"""What is set in a namespace ends with it, on a real Kafka, also when `bifrost control` is killed meanwhile."""

from __future__ import annotations

import asyncio
import random
import threading
import time
import urllib.error
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.state.state_change import Author, Change
from bifrost.tenancy.acls.stored_acls import creation_of
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_record import quota_key
from support.control.control_process import ControlProcess
from support.stage.guards import allow
from support.state_clients import reading

pytestmark = pytest.mark.timeout(300)

RATE = "producer_byte_rate"
ENTITIES = 20
KILLS = 4


@pytest.fixture
def topic() -> str:
    """A topic for a state that no other test has."""
    return f"__state-{time.time_ns()}"


async def fill(bootstrap: str, topic: str) -> None:
    """Set quotas and ACLs in acme:old, and some beside it, as clients of a gateway would."""
    async with reading(bootstrap, topic) as client:
        changes = [
            Change(quota_key(path, QuotaEntity(f"user-{number}")), 0, {"values": {RATE: 1.0}})
            for path in ("acme:old", "acme:old:west", "acme")
            for number in range(ENTITIES)
        ]
        changes += [
            creation_of("acme", allow("READ", f"{start}{number}"))
            for start in ("old:orders", "old:west:orders", "orders")
            for number in range(ENTITIES)
        ]
        await client.writer.change(changes, Author("test", "User:test"))


Stored = tuple[tuple[str, ...], tuple[str, ...], int, int]


async def stored(bootstrap: str, topic: str) -> Stored:
    """Return the namespaces, the namespaces of quotas, and how many ACLs are about acme:old and in all."""
    async with reading(bootstrap, topic, creates=False) as client:
        await client.until_current()
        table = client.table
        namespaces = {one.key.name for one in table.of_kind("namespace")}
        quotas = {one.key.name.partition("/")[0] for one in table.of_kind("quota")}
        names = [str((one.body or {}).get("name")) for one in table.of_kind("acl")]
        inside = sum(one.startswith("old:") for one in names)
        return tuple(sorted(namespaces)), tuple(sorted(quotas)), inside, len(names)


def test_quotas_and_acls_end_with_their_namespace(kafka: EmbeddedKafka, tmp_path: Path, topic: str) -> None:
    with ControlProcess(tmp_path, kafka.bootstrap, topic) as control:
        control.ask("POST", "/v1/namespaces", {"name": "acme:old:west"})
        asyncio.run(fill(kafka.bootstrap, topic))
        status, output, errors = control.command("namespaces", "delete", "acme:old", "--recursive")

        assert (status, errors) == (0, "")
        assert output.splitlines() == [
            "deleted namespace acme:old",
            "deleted namespace acme:old:west",
            f"deleted {2 * ENTITIES} quotas",
            f"deleted {2 * ENTITIES} ACLs",
        ]
        control.ask("POST", "/v1/namespaces", {"name": "acme:old"})
        assert control.ask("GET", "/v1/quotas?namespace=acme:old").body["quotas"] == []
    assert asyncio.run(stored(kafka.bootstrap, topic)) == (("acme:old",), ("acme",), 0, ENTITIES)


def test_a_kill_leaves_all_of_a_namespace_or_nothing(
    kafka: EmbeddedKafka, tmp_path: Path, topic: str
) -> None:
    control = ControlProcess(tmp_path, kafka.bootstrap, topic)
    control.start()
    control.ask("POST", "/v1/namespaces", {"name": "acme:old:west"})
    asyncio.run(fill(kafka.bootstrap, topic))
    seen = set()
    for number in range(KILLS):
        deletion = threading.Thread(target=delete, args=(control,))
        deletion.start()
        time.sleep(random.Random(number).uniform(0, 0.15))
        control.kill()
        deletion.join(60)

        found = asyncio.run(stored(kafka.bootstrap, topic))
        seen.add(found)
        control.start()
    try:
        if control.ask("GET", "/v1/namespaces/acme:old").status == 200:
            assert control.ask("DELETE", "/v1/namespaces/acme:old?recursive=true").status == 200
    finally:
        control.stop()

    gone = ((), ("acme",), 0, ENTITIES)
    whole = (("acme:old", "acme:old:west"), ("acme", "acme:old", "acme:old:west"), 2 * ENTITIES, 3 * ENTITIES)
    assert seen <= {whole, gone}
    assert asyncio.run(stored(kafka.bootstrap, topic)) == gone


def delete(control: ControlProcess) -> None:
    """Ask for the deletion; the process may be killed before it answers."""
    try:
        control.ask("DELETE", "/v1/namespaces/acme:old?recursive=true")
    except (OSError, urllib.error.URLError):
        return

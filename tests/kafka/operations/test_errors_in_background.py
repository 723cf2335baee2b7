"""Bugs of ours in what a gateway does beside its clients' requests: each begins again, and clients are served."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.gateway.exchange.exchange_link import ExchangeLink
from bifrost.gateway.exchange.gateway_exchange import GatewayExchange
from bifrost.gateway.issuers.jwks import Jwks
from bifrost.gateway.journaling.journal_writer import JournalWriter
from bifrost.gateway.journaling.journaling import Journaling
from bifrost.gateway.partition_index import cluster_index
from bifrost.gateway.partition_index.cluster_index import ClusterIndex
from bifrost.gateway.partition_index.index_link import IndexLink
from bifrost.gateway.partition_index.log_scans import LogScans
from bifrost.gateway.state.state_reader import StateReader
from bifrost.gateway.upkeep import offset_upkeep
from bifrost.gateway.upkeep.offset_upkeep import OffsetUpkeep
from bifrost.tenancy.quotas.quota_tables import QuotaTables
from bifrost.wire.messages import AlterClientQuotasRequest
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GLOBEX
from support.gateways.in_process import InProcess, raise_bug, raise_bug_later
from support.gateways.worker_gateway import await_true
from support.identity.issuer import ISSUER, Issuer, jwk_set

pytestmark = pytest.mark.timeout(120)

TENANT = replace(GLOBEX, allow_quota_changes=True, principals=("alice",))
EVERY_S = 0.2
"""How often the gateway looks after offsets, and the index, here."""


def adjust(configuration: dict[str, Any]) -> None:
    tenant = configuration["tenants"][0]
    tenant["quotas"] = {"producer_byte_rate": 100_000_000}
    tenant["virtual_partitions"] = [{"topics": ["wide-*"], "virtual": 12, "physical": 4}]


@pytest.fixture(scope="module")
def running(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    folder: Path = tmp_path_factory.mktemp("background")
    (folder / "keys.json").write_bytes(jwk_set(Issuer().public_jwk()))
    proxy = {
        "state": {"topic": "__background_state"},
        "quota_exchange": {"topic": "__background_quotas"},
        "partition_index": {"topic": "__background_index"},
        "journal": {"interval_ms": 1000},
        "oauth": {
            "issuer": ISSUER,
            "audience": ["kafka"],
            "jwks_file": str(folder / "keys.json"),
            "jwks_refresh_ms": 1000,
        },
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offset_upkeep, "LONGEST_LOOK_S", EVERY_S)
        patch.setattr(offset_upkeep, "look_every_s", lambda _: EVERY_S)
        patch.setattr(offset_upkeep, "RETRY_S", EVERY_S)
        patch.setattr(cluster_index, "WRITE_S", EVERY_S)
        patch.setattr(cluster_index, "SCAN_S", EVERY_S)
        one = InProcess(
            folder,
            kafka.bootstrap,
            tenants=[TENANT],
            limits={"metadata_refresh_ms": 1000},
            proxy=proxy,
            listener={"sasl_mechanisms": ["PLAIN", "OAUTHBEARER"]},
            adjust=adjust,
        )
        one.start()
        yield one
        one.stop()


def connected(running: InProcess) -> RawClient:
    return RawClient.authenticated(running.endpoint(TENANT.name), timeout_s=15)


def is_served(running: InProcess) -> bool:
    with connected(running) as client:
        return bool(client.versions())


BACKGROUND: list[tuple[Any, str, Callable[..., Any], str]] = [
    (OffsetUpkeep, "_tenants", raise_bug, "offset_upkeep"),
    (OffsetUpkeep, "_look", raise_bug_later, "offset_upkeep"),
    (Jwks, "_fetch", raise_bug_later, "jwks"),
    (Jwks, "_refresh", raise_bug_later, "jwks"),
    (GatewayExchange, "_take", raise_bug, "quota_exchange"),
    (ExchangeLink, "write", raise_bug_later, "quota_exchange"),
    (ClusterIndex, "_due", raise_bug, "partition_index"),
    (IndexLink, "read", raise_bug_later, "partition_index"),
    (LogScans, "_look_as", raise_bug_later, "partition_index_scan"),
    (StateReader, "_ask", raise_bug_later, "state_reader"),
    (Journaling, "_end_interval", raise_bug_later, "journal_interval"),
    (JournalWriter, "write_all", raise_bug_later, "journal_writer"),
]


@pytest.mark.parametrize(
    ("owner", "name", "bug", "place"), BACKGROUND, ids=[f"{one[0].__name__}.{one[1]}" for one in BACKGROUND]
)
def test_a_background_task_that_fails_is_begun_again(
    running: InProcess,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    bug: Callable[..., Any],
    place: str,
) -> None:
    real, counts = getattr(owner, name), running.gateway.internal_errors.counts
    before, called = counts[place], threading.Event()

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        called.set()
        return real(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, bug)
        await_true(lambda: counts[place] >= before + 2, f"no errors of {place}")
        assert is_served(running)
    monkeypatch.setattr(owner, name, wrapped)

    assert called.wait(15)
    assert is_served(running)
    await_true(lambda: running.gateway.is_ready, "the gateway does not become ready again")


def change(rate: float, client_id: str) -> AlterClientQuotasRequest:
    """Return a change of a quota of one client ID."""
    entity = AlterClientQuotasRequest.EntityData(entity_type="client-id", entity_name=client_id)
    wanted = AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=rate, remove=False)
    return AlterClientQuotasRequest(
        entries=[AlterClientQuotasRequest.EntryData(entity=[entity], ops=[wanted])], validate_only=False
    )


def test_a_bug_in_what_follows_the_state_keeps_no_client_waiting(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = running.gateway.internal_errors.counts
    before = counts["state_follower"]
    with connected(running) as client:
        with monkeypatch.context() as patch:
            patch.setattr(QuotaTables, "apply", raise_bug)
            assert client.request(change(5_000_000, "app"), 1).entries[0].error_code == 0
            assert counts["state_follower"] == before + 1
            assert is_served(running)
        assert client.request(change(6_000_000, "app"), 1).entries[0].error_code == 0
    assert counts["state_follower"] == before + 1
    await_true(lambda: running.gateway.is_ready, "the gateway does not become ready again")

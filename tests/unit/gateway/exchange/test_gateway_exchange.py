"""Before a gateway takes part; what it does then is tested with real brokers in tests/kafka/quotas."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.gateway.exchange.exchange_counts import NO_SHARE, SHARE_UNITS, ExchangeCounts
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.loop import loop_guard

CONFIG: dict[str, Any] = {
    "proxy": {
        "listener_sets": [
            {
                "name": "plaintext",
                "port_range": {
                    "advertised_host": "127.0.0.1",
                    "bootstrap_port": 9092,
                    "broker_port_range": {"start": 9093, "end": 9094},
                },
            }
        ],
        "quota_exchange": {},
    },
    "upstream": {"bootstrap": ["127.0.0.1:19092"]},
    "tenants": [{"name": "acme", "auth": {"principals": ["alice"]}, "quotas": {"producer_byte_rate": 1000}}],
}


def test_a_gateway_that_takes_no_part_yet_has_little_of_each_budget() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    assert gateway.exchange is not None

    [budget] = gateway.shared.quotas.quota("acme", "alice", b"app").budgets

    assert budget.stretch == 50
    shares = {("producer_byte_rate", "acme"): 1 / 50}
    assert gateway.exchange.counts() == ExchangeCounts(0, 0, False, 0, {}, shares)


def test_a_worker_writes_its_shares_where_the_supervisor_reads_them() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    assert gateway.exchange is not None
    _quota = gateway.shared.quotas.quota("acme", "alice", b"app")
    state: Counter[str] = Counter()
    shares: Counter[tuple[str, str]] = Counter({("request_rate", "gone"): 5})

    gateway.exchange.note(state, shares)

    assert state == {"members": 0, "budgets": 0, "is_up": 0, "lag_ms": 0}
    assert shares == {
        ("request_rate", "gone"): NO_SHARE,
        ("producer_byte_rate", "acme"): SHARE_UNITS // 50,
    }


def test_without_the_section_a_gateway_has_its_budgets_alone() -> None:
    proxy = {key: value for key, value in CONFIG["proxy"].items() if key != "quota_exchange"}
    gateway = Gateway(Config.model_validate({**CONFIG, "proxy": proxy}))

    [budget] = gateway.shared.quotas.quota("acme", "alice", b"app").budgets

    assert gateway.exchange is None
    assert gateway.peers.budget_table is None
    assert budget.stretch == 1


def test_if_the_reader_or_the_writer_fails_the_other_one_ends_with_it(
    monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    """Both begin again: without this a bug would leave one more of them behind each time."""
    gateway = Gateway(Config.model_validate(CONFIG))
    exchange = gateway.exchange
    assert exchange is not None
    running, has_failed_often = Counter[str](), asyncio.Event()

    async def writes(*_: object) -> None:
        running["writers"] += 1
        try:
            await asyncio.Event().wait()
        finally:
            running["writers"] -= 1

    async def fails(*_: object) -> None:
        running["readings"] += 1
        if running["readings"] == 4:
            has_failed_often.set()
        await asyncio.sleep(0)
        raise KeyError("a bug")

    monkeypatch.setattr(exchange, "_write", writes)
    monkeypatch.setattr(exchange, "_read", fails)
    monkeypatch.setattr(gateway.peers, "takes_part", lambda: True)
    monkeypatch.setattr(loop_guard, "FIRST_RETRY_S", 0.001)

    async def run() -> None:
        exchange.begin()
        await asyncio.wait_for(has_failed_often.wait(), 5)
        assert running["writers"] <= 1
        assert exchange._task is not None
        exchange._task.cancel()
        await asyncio.gather(exchange._task, return_exceptions=True)
        assert running["writers"] == 0

    asyncio.run(run())

    reported = [one for one in logged if one["event"] == "internal_error"]
    assert {one["place"] for one in reported} == {"quota_exchange"}

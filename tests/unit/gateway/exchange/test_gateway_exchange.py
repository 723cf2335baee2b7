"""Before a gateway takes part; what it does then is tested with real brokers in tests/kafka/quotas."""

from collections import Counter
from typing import Any

from bifrost.config.model import Config
from bifrost.gateway.exchange.exchange_counts import NO_SHARE, SHARE_UNITS, ExchangeCounts
from bifrost.gateway.gateway import Gateway

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

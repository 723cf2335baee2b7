"""What ways count, and what the journal counts of messages on them: the same as without."""

from __future__ import annotations

import pytest

from bifrost.filters.records import read_orders, record_topics
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.journal.journal import Journal
from support.encryption.sealing import sealed
from support.gateways.journalling import StillClock, journal, rows, written
from support.physical_names import physical_name
from support.stage.messages import fetch, fetched, produce, produced
from support.stage.on_ways import batch, next_dek, on_orders, on_ways, place_of, sealing
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")


def numbers(records: TenantRecords) -> dict[tuple[str, str], int]:
    """What filters have counted, but for the time."""
    counts = records.process.counts
    return {(key.direction, key.number): n for key, n in counts.items() if key.number != "time_ns"}


@pytest.mark.parametrize("has_ways", [True, False])
def test_ways_count_what_filters_count(stage: Stage, monkeypatch: pytest.MonkeyPatch, has_ways: bool) -> None:
    if not has_ways:
        monkeypatch.setattr(record_topics, "_WITH_WAYS", {})
    records, _ = on_ways(stage, sealing("orders"))
    data = batch(offset=5) + batch(offset=8, sequence=43)
    book = stage.play()

    assert (
        book
        >> client_sends(produce("orders", records=batch() + batch(sequence=43)), 9)
        << to_broker(produce(ORDERS, records=on_orders(batch()) + on_orders(batch(sequence=43), 1)))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(
            fetched(ORDERS, records=on_orders(batch(offset=5)) + on_orders(batch(offset=8, sequence=43)))
        )
        << to_client(fetched("orders", records=data))
    )
    expected = {"batches": 2, "records": 6, "rejections": 0}
    assert numbers(records) == {(way, n): m for way in ("produce", "fetch") for n, m in expected.items()}
    assert all(n > 0 for key, n in records.process.counts.items() if key.number == "time_ns")
    assert records.process.memory.used == 0


@pytest.mark.parametrize("has_ways", [True, False])
@pytest.mark.parametrize("hot_steps", [8192, 1])
def test_the_journal_counts_what_clients_send_and_get(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, has_ways: bool, hot_steps: int
) -> None:
    if not has_ways:
        monkeypatch.setattr(record_topics, "_WITH_WAYS", {})
    told: Journal = journal(StillClock())
    stage.shared.journal = told
    on_ways(stage, sealing("orders"))
    data = batch(3, 5, count=300)
    book = stage.play()
    book.session.hot_steps = hot_steps

    assert (
        book
        >> client_sends(produce("orders", records=batch(3, count=300)), 9)
        << to_broker(produce(ORDERS, records=on_orders(batch(3, count=300))))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=on_orders(data)))
        << to_client(fetched("orders", records=data))
    )
    counted = rows(written(told, ends_interval=True), "topic", topic="orders")
    assert [(one.get("bytes_in"), one.get("bytes_out")) for one in counted] == [
        (len(data), None),
        (None, len(data)),
    ]
    for one in counted:
        (found,) = one["batches"]
        assert (found["codec"], found["batches"], found["records"], found["bytes"]) == (
            "lz4",
            1,
            300,
            len(data),
        )


def test_sources_are_not_asked_for_each_message(stage: Stage) -> None:
    """The clock of the test goes on by a microsecond at each look: a hundred messages take less than 10 ms."""
    _, sources = on_ways(stage, sealing("orders"))
    book = stage.play()

    for number in range(100):
        book >> client_sends(produce("orders", records=batch(sequence=3 * number)), 9)
        book.said.to_broker.clear()

    assert len(sources.looked_up) == 1


@pytest.mark.parametrize("has_ways", [True, False])
def test_forgotten_orders_are_counted(stage: Stage, monkeypatch: pytest.MonkeyPatch, has_ways: bool) -> None:
    """Of one producer in all, so that one partition makes room for the other."""
    monkeypatch.setattr(read_orders, "MAX_PRODUCERS_IN_ALL", 1)
    if not has_ways:
        monkeypatch.setattr(record_topics, "_WITH_WAYS", {})
    records, _ = on_ways(stage, sealing("orders", "billing"))
    data = batch(offset=5)
    book = stage.play()

    assert (
        book
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=on_orders(data)))
        << to_client(fetched("orders", records=data))
    )
    assert not records.process.memory.hits
    assert (
        book
        >> client_sends(fetch("billing"), 12)
        << to_broker(fetch(BILLING))
        >> broker_answers(fetched(BILLING, records=sealed(data, place_of("billing"), next_dek())))
        << to_client(fetched("billing", records=data))
    )
    assert records.process.memory.hits == {("read_orders", "acme"): 1}

from types import SimpleNamespace
from typing import Any

from bifrost.gateway.journal_metrics import journal_metrics
from bifrost.journal.record import RecordKind
from bifrost.journal.record_buffer import DropReason
from support.journalling import StillClock, journal


def samples(journaling: Any) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in journal_metrics(journaling)
        for sample in metric.samples
    }


def test_what_was_dropped_folded_and_written_is_told() -> None:
    one = journal(StillClock())
    one.event("start", "done")
    one.buffer.drop(RecordKind.EVENT, "acme", DropReason.EVENT_LIMIT, count=3)
    one.table.folded["acme"] = 2
    writer = SimpleNamespace(written=5, is_failing=False)

    found = samples(SimpleNamespace(journal=one, writer=writer))

    assert found["kafka_proxy_journal_dropped_total", "acme", "event", "event_limit"] == 3
    assert found["kafka_proxy_journal_folded_total", "acme"] == 2
    assert found["kafka_proxy_journal_written_total",] == 5
    assert found["kafka_proxy_journal_up",] == 1
    assert found["kafka_proxy_journal_buffer_bytes",] > 0
    assert found["kafka_proxy_journal_usage_rows",] == 0


def test_before_it_has_begun_it_is_not_up() -> None:
    found = samples(SimpleNamespace(journal=journal(StillClock()), writer=None))

    assert found["kafka_proxy_journal_up",] == 0

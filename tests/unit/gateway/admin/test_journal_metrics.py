from bifrost.gateway.admin.counted import JournalCounts
from bifrost.gateway.admin.journal_metrics import journal_metrics


def samples(counts: JournalCounts) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in filter(None, journal_metrics(counts))
        for sample in metric.samples
    }


def test_what_was_dropped_folded_and_written_is_told() -> None:
    dropped = {("acme", "event", "event_limit"): 3}

    found = samples(JournalCounts(dropped, {"acme": 2}, 5, 700, 4, is_up=True))

    assert found["kafka_proxy_journal_dropped_total", "acme", "event", "event_limit"] == 3
    assert found["kafka_proxy_journal_folded_total", "acme"] == 2
    assert found["kafka_proxy_journal_written_total",] == 5
    assert found["kafka_proxy_journal_up",] == 1
    assert found["kafka_proxy_journal_buffer_bytes",] == 700
    assert found["kafka_proxy_journal_usage_rows",] == 4


def test_where_its_records_are_not_taken_it_is_not_up() -> None:
    found = samples(JournalCounts({}, {}, 0, 0, 0, is_up=False))

    assert found["kafka_proxy_journal_up",] == 0

import structlog

from bifrost.filters.records.sources import RefusedRecords
from bifrost.gateway.sources import refusal_log
from bifrost.gateway.sources.refusal_log import PAUSE_NS, RefusalLog
from bifrost.wire.error_codes import ErrorCode

ONE = RefusedRecords("acme", "orders", 0, ErrorCode.CORRUPT_MESSAGE, "offset 5: the batch is not encrypted")


def test_a_partition_is_named_once_in_a_while(monkeypatch) -> None:
    now = [0]
    log = RefusalLog(lambda: now[0])

    with structlog.testing.capture_logs() as lines:
        for now[0] in (0, 1, PAUSE_NS - 1, PAUSE_NS):
            log.tell(ONE)
        log.tell(ONE._replace(partition=1))

    assert [(line["event"], line["partition"]) for line in lines] == [
        ("records_refused", 0),
        ("records_refused", 0),
        ("records_refused", 1),
    ]
    assert (lines[0]["tenant"], lines[0]["topic"], lines[0]["error_code"]) == (
        "acme",
        "orders",
        "CORRUPT_MESSAGE",
    )
    assert lines[0]["reason"] == ONE.reason


def test_it_remembers_no_more_partitions_than_it_may(monkeypatch) -> None:
    monkeypatch.setattr(refusal_log, "MAX_PARTITIONS", 3)
    log = RefusalLog(lambda: 0)

    for partition in range(10):
        log.tell(ONE._replace(partition=partition))

    assert len(log._told_ns) <= 3

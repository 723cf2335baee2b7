import io
from typing import Any

from rich.console import Console

from bifrost.pipeline.spark.progress import (
    LiveProgress,
    PlainProgress,
    Step,
    follow,
    open_progress,
    read_step,
)

REPORT = {
    "batchId": 4,
    "numInputRows": 500,
    "batchDuration": 2000,
    "sources": [{"endOffset": '{"j": {"0": 10, "1": 7}}', "latestOffset": {"j": {"0": 15, "1": 7, "2": 3}}}],
}


def test_a_step_has_rows_a_second_and_what_is_still_to_read() -> None:
    assert read_step(REPORT, "2 rejected") == Step(4, 500, 250.0, 2000, 8, "2 rejected")


def test_a_source_without_offsets_has_no_lag() -> None:
    for source in ({}, {"endOffset": None, "latestOffset": None}, {"endOffset": "3", "latestOffset": "x"}):
        assert read_step({**REPORT, "sources": [source]}).lag is None


def test_without_a_terminal_each_batch_is_a_line() -> None:
    stream = io.StringIO()
    with PlainProgress(stream) as progress:
        progress.show(read_step(REPORT, "1 late"))

    assert stream.getvalue() == "batch=4 rows=500 rows_per_s=250 ms=2000 lag=8 1 late\n"


def test_on_a_terminal_the_last_batches_are_a_table() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    with LiveProgress(console, "meter") as progress:
        for batch in range(12):
            progress.show(Step(batch, 1000, 50.0, 20, 0))
        console.print(progress.render())

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "12,000 rows" in shown
    assert "meter" in shown


def test_what_is_no_terminal_gets_lines() -> None:
    assert isinstance(open_progress("meter", io.StringIO()), PlainProgress)


class Query:
    """As much of a StreamingQuery as is followed."""

    def __init__(self, reports: list[dict[str, Any]]) -> None:
        self._coming = reports
        self.recentProgress: list[dict[str, Any]] = []

    def awaitTermination(self, _timeout_s: float) -> bool:  # noqa: N802 (Spark's name)
        self.recentProgress.append(self._coming.pop(0))
        return not self._coming


def test_each_batch_with_rows_is_shown_once() -> None:
    stream = io.StringIO()

    follow(
        Query([REPORT, {**REPORT, "batchId": 5, "numInputRows": 0}, {**REPORT, "batchId": 6}]),
        PlainProgress(stream),
        str,
    )

    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["batch=4", "batch=6"]
    assert lines[0].endswith("lag=8 4")

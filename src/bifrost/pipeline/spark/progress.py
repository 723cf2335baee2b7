"""Shows the progress of a streaming job: batch, rows, rows per second, lag; on a terminal as a table, else as one line
per batch.

Spark reports each batch once (`StreamingQueryProgress`); `read_step` takes the figures to show from it, the rest of
this module draws them.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

SHOWN_STEPS = 8
"""Batches in the table: the last ones."""


@dataclass(frozen=True, slots=True)
class Step:
    """One finished batch."""

    batch: int
    rows: int
    rows_per_s: float
    """Rows divided by the time that the batch took."""
    duration_ms: int
    lag: int | None
    """Records of all partitions that were not read yet; None where that is not known."""
    note: str = ""
    """The job's remarks on the batch: rejects, late rows."""


def read_step(report: Mapping[str, Any], note: str = "") -> Step:
    """Return the figures to show of Spark's report on a batch (its JSON as a mapping)."""
    rows = int(report.get("numInputRows", 0))
    duration_ms = int(report.get("batchDuration") or report.get("durationMs", {}).get("triggerExecution", 0))
    sources = report.get("sources") or [{}]
    return Step(
        batch=int(report.get("batchId", -1)),
        rows=rows,
        rows_per_s=rows * 1000 / duration_ms if duration_ms else 0.0,
        duration_ms=duration_ms,
        lag=_lag(sources[0]),
        note=note,
    )


def _lag(source: Mapping[str, Any]) -> int | None:
    """Return the latest minus the read offset, summed over the partitions."""
    try:
        ends, latest = (_offsets(source[name]) for name in ("endOffset", "latestOffset"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    if not latest:
        return None
    return sum(max(0, offset - ends.get(place, 0)) for place, offset in latest.items())


def _offsets(value: Any) -> dict[tuple[str, str], int]:
    topics = json.loads(value) if isinstance(value, str) else value
    return {
        (topic, str(one)): int(at) for topic, parts in (topics or {}).items() for one, at in parts.items()
    }


class PlainProgress:
    """A line for each batch."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: lines need no clean-up."""

    def show(self, step: Step) -> None:
        """Write the line of a batch."""
        lag = "" if step.lag is None else f" lag={step.lag}"
        note = f" {step.note}" if step.note else ""
        line = f"batch={step.batch} rows={step.rows} rows_per_s={step.rows_per_s:.0f} ms={step.duration_ms}{lag}{note}"
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveProgress:
    """A table that is updated in place."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._steps: deque[Step] = deque(maxlen=SHOWN_STEPS)
        self._total = 0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(self.render(), console=self._console, refresh_per_second=4)
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the screen."""
        if self._live is not None:
            self._live.stop()

    def show(self, step: Step) -> None:
        """Add a batch."""
        self._steps.append(step)
        self._total += step.rows
        if self._live is not None:
            self._live.update(self.render())

    def render(self) -> RenderableType:
        """Return the table as it is now."""
        from rich import box
        from rich.table import Table

        lag = self._steps[-1].lag if self._steps else None
        caption = f"{self._total:,} rows" + ("" if lag is None else f", {lag:,} to go")
        table = Table(title=self._title, caption=caption, box=box.SIMPLE_HEAD, title_justify="left")
        for name in ("batch", "rows", "rows/s", "s", "lag"):
            table.add_column(name, justify="right")
        table.add_column("", style="yellow")
        for step in self._steps:
            behind = "" if step.lag is None else f"{step.lag:,}"
            cells = (
                f"{step.batch}",
                f"{step.rows:,}",
                f"{step.rows_per_s:,.0f}",
                f"{step.duration_ms / 1000:.1f}",
            )
            table.add_row(*cells, behind, step.note)
        return table


def open_progress(title: str, stream: TextIO = sys.stdout) -> PlainProgress | LiveProgress:
    """Return how progress is shown on `stream`."""
    if not stream.isatty():
        return PlainProgress(stream)
    from rich.console import Console

    console = Console(file=stream)
    return PlainProgress(stream) if console.is_dumb_terminal else LiveProgress(console, title)


def follow(
    query: Any, progress: PlainProgress | LiveProgress, note: Callable[[int], str], *, poll_s: float = 0.5
) -> None:
    """Show each batch of a streaming query until it ends.

    Args:
        query: a `StreamingQuery` that runs.
        progress: where it is shown.
        note: returns the job's remarks on a batch, by its number.
        poll_s: how often Spark is asked, in seconds.
    Raises:
        pyspark.errors.StreamingQueryException: the query failed.
    """
    shown = -1
    is_over = False
    while not is_over:
        is_over = bool(query.awaitTermination(poll_s))
        for report in query.recentProgress:
            step_report = json.loads(report.json) if hasattr(report, "json") else report
            if int(step_report["batchId"]) > shown and step_report.get("numInputRows"):
                shown = int(step_report["batchId"])
                progress.show(read_step(step_report, note(shown)))

"""The demo without a terminal: one plain line for each thing that happens, for logs and CI."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from bifrost.embedded.demo.state import (
    DemoState,
    Observation,
    TenantView,
    format_seconds,
    physical_name,
    verdict,
)

BROKER_PERIOD_S = 5.0
"""Between two lines about the broker, in seconds."""
PROGRESS_PERIOD_S = 1.0
"""Between two lines about a download, in seconds."""


class PlainScreen:
    """Writes a demo as lines; each is flushed, so that a log shows it when it happens."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._positions: dict[str, int] = {}
        self._is_introduced = False
        self._broker_due_s = 2.0
        self._progress_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def step(self, text: str) -> None:
        """Write the current step of the start."""
        self._line(text)

    def progress(self, text: str) -> None:
        """Write the progress of the step, at most once a second."""
        now = time.monotonic()
        if now - self._progress_at >= PROGRESS_PERIOD_S:
            self._progress_at = now
            self._line(text)

    def show(self, state: DemoState) -> None:
        """Write what is new since the last call."""
        if not self._is_introduced:
            self._is_introduced = True
            self._introduce(state)
        clock = format_seconds(state.elapsed_s)
        for view in state.tenants:
            new = view.lines_written - self._positions.get(view.name, 0)
            self._positions[view.name] = view.lines_written
            for line in view.lines[-new:] if new else ():
                self._line(f"{clock} {view.name:<7} {line.kind:<7} {line.text}")
        if state.elapsed_s >= self._broker_due_s:
            self._broker_due_s = state.elapsed_s + BROKER_PERIOD_S
            self._look(clock, state.observation)

    def leave(self) -> None:
        """Do nothing: lines need no clean-up."""

    def finish(self, tenants: Sequence[TenantView], observation: Observation, topic: str) -> None:
        """Write the summary."""
        for view in tenants:
            counts, physical = view.counts, physical_name(view.name, topic)
            self._line(
                f"{view.name}: {counts.sent} sent, {counts.read} read, {counts.lost} lost, "
                f"{counts.crossed} crossed; its {topic} is {physical} "
                f"({observation.records_of(physical)} records) on the broker"
            )
        self._line(verdict(tenants))

    def _introduce(self, state: DemoState) -> None:
        users = ", ".join(f"{view.name} / {view.password}" for view in state.tenants)
        self._line(f"{state.title}: connect to {state.bootstrap} with SASL/PLAIN, {users}")
        for what, command in state.hints:
            self._line(f"try {what}: {command}")

    def _look(self, clock: str, observation: Observation) -> None:
        topics = ", ".join(f"{topic.name} ({topic.records} records)" for topic in observation.topics)
        self._line(f"{clock} broker  topics  {topics}")
        self._line(f"{clock} broker  groups  {', '.join(observation.groups)}")
        for tenant, sight in observation.sights.items():
            seen = f"topics {' '.join(sight.topics) or '-'}, groups {' '.join(sight.groups) or '-'}"
            self._line(f"{clock} {tenant:<7} sees    {seen}")

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

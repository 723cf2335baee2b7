"""The demo in a terminal: two consoles side by side, the broker underneath, what to try at the bottom.

`render` is a pure function of a `DemoState` and the size of the terminal; `LiveScreen` shows it on the alternate
screen and leaves the summary on the ordinary one. Text is ASCII, so it is readable in any locale.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.status import Status
from rich.table import Table
from rich.text import Text

from bifrost.embedded.demo.ledger import ConsoleLine
from bifrost.embedded.demo.state import (
    DemoState,
    Observation,
    Sight,
    TenantView,
    physical_name,
    split_physical,
    verdict,
)

COLOURS = ("cyan", "yellow")
"""Colours of the tenants, the same everywhere."""
KIND_STYLES = {"sent": "dim", "read": "bold", "crossed": "bold red", "failed": "bold red"}
FEW_ROWS = 30
"""Below so many rows only FEW_HINTS are shown."""
FEW_HINTS = 2
HINT_MARGIN = 15
"""Columns that a hint's command cannot use: the frame and its padding, 4, and the label, 11."""


class _Console:
    """The last lines of a tenant's console, as many as there is room for."""

    def __init__(self, sight: Sight | None, lines: Sequence[ConsoleLine]) -> None:
        self._sight = sight
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max((options.height or 10) - 1, 0)
        yield Text(_sees(self._sight), style="italic", no_wrap=True, overflow="ellipsis")
        for line in self._lines[-room:] if room else ():
            text = Text(f"{line.kind:<8}", style=KIND_STYLES[line.kind], no_wrap=True, overflow="ellipsis")
            yield text.append(line.text)


def _sees(sight: Sight | None) -> str:
    if sight is None:
        return ""
    topics = f"sees topic {', '.join(sight.topics)}" if sight.topics else "sees no topic"
    return f"{topics}, group {', '.join(sight.groups)}" if sight.groups else topics


def render(state: DemoState, width: int, height: int) -> Layout:
    """Return the whole screen.

    Args:
        state: what to show.
        width: of the terminal, in columns.
        height: of the terminal, in rows.
    """
    hints = state.hints[:FEW_HINTS] if height < FEW_ROWS else state.hints
    layout = Layout()
    layout.split_column(
        Layout(_header(state), size=1),
        Layout(name="consoles", minimum_size=5),
        Layout(_broker(state), size=_broker_rows(state)),
        Layout(_hints(state, hints), size=3 + sum(_rows(command, width) for _, command in hints)),
    )
    layout["consoles"].split_row(
        *(
            Layout(_tenant(view, state.observation.sights.get(view.name), colour))
            for view, colour in zip(state.tenants, COLOURS, strict=True)
        )
    )
    return layout


def _header(state: DemoState) -> Table:
    grid = Table.grid(expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(Text(f" {state.title}", style="bold"), Text(f"{state.clock}  Ctrl-C ends it ", style="dim"))
    return grid


def _tenant(view: TenantView, sight: Sight | None, colour: str) -> Panel:
    counts = view.counts
    crossed = "bold red" if counts.crossed else "green"
    footer = Text.assemble(
        f"sent {counts.sent}  read {counts.read}  ", (f"crossed {counts.crossed}", crossed)
    )
    return Panel(
        _Console(sight, view.lines),
        title=Text(f"tenant {view.name}", style=f"bold {colour}"),
        title_align="left",
        subtitle=footer,
        subtitle_align="right",
        border_style=colour,
    )


def _broker_rows(state: DemoState) -> int:
    rows = max(len(state.observation.topics), len(state.observation.groups), 2)
    return min(rows, 6) + 3


def _broker(state: DemoState) -> Panel:
    names = [view.name for view in state.tenants]
    observation = state.observation
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(ratio=3)
    grid.add_column(ratio=2)
    grid.add_row(_topics(observation, names), _groups(observation, names))
    return Panel(
        grid,
        title=Text("on the broker, asked past the gateway", style="bold"),
        title_align="left",
        border_style="dim",
    )


def _topics(observation: Observation, tenants: Sequence[str]) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    table.add_column("topic", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("partitions", justify="right", no_wrap=True)
    table.add_column("records", justify="right", no_wrap=True)
    for topic in observation.topics:
        style = "dim" if topic.is_internal else ""
        name = _physical(topic.name, tenants)
        table.add_row(name, str(topic.partitions), str(topic.records), style=style)
    return table


def _groups(observation: Observation, tenants: Sequence[str]) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    table.add_column("consumer group", no_wrap=True, overflow="ellipsis")
    for group in observation.groups:
        table.add_row(_physical(group, tenants))
    return table


def _physical(name: str, tenants: Sequence[str]) -> Text:
    tenant, prefix, virtual = split_physical(name, tenants)
    if not tenant:
        return Text(name)
    colour = COLOURS[list(tenants).index(tenant)]
    return Text.assemble((prefix, "dim"), (virtual, f"bold {colour}"))


def _rows(command: str, width: int) -> int:
    """Return how many rows a hint's command takes beside its label, the frame and the padding."""
    return len(textwrap.wrap(command, max(width - HINT_MARGIN, 1), break_on_hyphens=False))


def _hints(state: DemoState, hints: Sequence[tuple[str, str]]) -> Panel:
    users = Text.assemble(("SASL/PLAIN  ", "dim"))
    for view, colour in zip(state.tenants, COLOURS, strict=True):
        users.append(view.name, style=f"bold {colour}")
        users.append(f" / {view.password}   ")
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True)
    # A command that does not fit continues in the next row; if it were cut off, users could not copy it.
    grid.add_column(overflow="fold")
    grid.add_row("connect to", Text.assemble((f"{state.bootstrap}   ", "bold"), users))
    for what, command in hints:
        grid.add_row(what, command)
    return Panel(
        grid,
        title=Text("try it with a client of yours", style="bold"),
        title_align="left",
        border_style="dim",
    )


def summary(tenants: Sequence[TenantView], observation: Observation, topic: str) -> RenderableType:
    """Return what stays on the terminal: records by tenant, where they are, and the verdict."""
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("tenant", "topic"):
        table.add_column(column)
    for column in ("sent", "read", "lost", "crossed"):
        table.add_column(column, justify="right")
    table.add_column("on the broker")
    for view, colour in zip(tenants, COLOURS, strict=True):
        physical = physical_name(view.name, topic)
        counts = view.counts
        table.add_row(
            Text(view.name, style=f"bold {colour}"),
            topic,
            *(str(number) for number in (counts.sent, counts.read, counts.lost, counts.crossed)),
            f"{physical} ({observation.records_of(physical)})",
        )
    return Group(table, Text(verdict(tenants), style="bold"))


class LiveScreen:
    """Shows a demo in a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._status: Status | None = None

    def __enter__(self) -> Self:
        self._status = self._console.status("Starting", spinner="line")
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()
        self.leave()

    def step(self, text: str) -> None:
        """Show the current step of the start."""
        if self._status is not None:
            self._status.update(text)

    progress = step

    def show(self, state: DemoState) -> None:
        """Show the current state."""
        self._end_status()
        picture = render(state, *self._console.size)
        if self._live is None:
            self._live = Live(picture, console=self._console, screen=True, auto_refresh=False)
            self._live.start()
        self._live.update(picture, refresh=True)

    def leave(self) -> None:
        """Restore the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def finish(self, tenants: Sequence[TenantView], observation: Observation, topic: str) -> None:
        """Print the summary."""
        self._end_status()
        self._console.print(summary(tenants, observation, topic))

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from bifrost.embedded.demo import plain
from bifrost.embedded.demo.ledger import ConsoleLine
from bifrost.embedded.demo.plain import PlainScreen
from bifrost.embedded.demo.state import DemoState


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def new_lines(stream: io.StringIO) -> list[str]:
    lines = stream.getvalue().splitlines()
    stream.seek(0)
    stream.truncate()
    return lines


def test_first_picture_says_how_to_connect(state: DemoState, stream: io.StringIO) -> None:
    with PlainScreen(stream) as screen:
        screen.show(state)

    lines = new_lines(stream)
    assert lines[0] == (
        "Bifrost: two tenants on one Kafka 4.3.1: connect to 127.0.0.1:9092 with SASL/PLAIN, "
        "acme / a0a0a0a0, globex / 9b9b9b9b"
    )
    assert lines[1] == "try kcat: kcat -F /tmp/d/acme.kcat"


def test_each_console_line_is_written_once(state: DemoState, stream: io.StringIO) -> None:
    screen = PlainScreen(stream)
    screen.show(state)
    first = new_lines(stream)
    acme, globex = state.tenants
    more = replace(globex, lines=[*globex.lines, ConsoleLine("read", "#2 1 hammock")], lines_written=2)

    screen.show(replace(state, tenants=[acme, more]))

    assert "0:03 acme    read    #40 1 anvil" in first
    assert "0:03 globex  crossed #1 3 anvil of acme" in first
    assert new_lines(stream) == ["0:03 globex  read    #2 1 hammock"]


def test_broker_is_shown_now_and_then(state: DemoState, stream: io.StringIO) -> None:
    screen = PlainScreen(stream)

    for elapsed_s in (1, 2, 3, 6.9, 7.1):
        screen.show(replace(state, elapsed_s=elapsed_s))

    assert [line for line in new_lines(stream) if " broker  topics" in line or "sees" in line] == [
        "0:02 broker  topics  __vt_acme_orders (40 records), __vt_globex_orders (2 records), "
        "__consumer_offsets (9 records)",
        "0:02 acme    sees    topics orders, groups shop",
        "0:02 globex  sees    topics -, groups -",
        "0:07 broker  topics  __vt_acme_orders (40 records), __vt_globex_orders (2 records), "
        "__consumer_offsets (9 records)",
        "0:07 acme    sees    topics orders, groups shop",
        "0:07 globex  sees    topics -, groups -",
    ]


def test_progress_is_throttled_and_steps_are_not(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 10.5, 11.1])
    monkeypatch.setattr(plain.time, "monotonic", lambda: next(clock))
    screen = PlainScreen(stream)

    screen.step("Starting Kafka")
    for number in (1, 2, 3):
        screen.progress(f"jar {number}/3")
    screen.step("Starting the gateway")

    assert new_lines(stream) == ["Starting Kafka", "jar 1/3", "jar 3/3", "Starting the gateway"]


def test_summary_has_a_line_per_tenant_and_the_verdict(state: DemoState, stream: io.StringIO) -> None:
    PlainScreen(stream).finish(state.tenants, state.observation, "orders")

    assert new_lines(stream) == [
        "acme: 40 sent, 39 read, 1 lost, 0 crossed; its orders is __vt_acme_orders (40 records) on the broker",
        "globex: 2 sent, 2 read, 0 lost, 1 crossed; its orders is __vt_globex_orders (2 records) on the broker",
        "1 crossed, 1 lost.",
    ]

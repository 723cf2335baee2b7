"""What stands on the screen, at the sizes terminals have."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from bifrost.embedded.demo.screen import render, summary
from bifrost.embedded.demo.state import DemoState, Observation


def drawn(state: DemoState, width: int, height: int, encoding: str = "utf-8") -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = Console(file=stream, width=width, height=height, force_terminal=False, _environ={})
    console.print(render(state, width, height), end="")
    stream.seek(0)
    return [line.rstrip() for line in stream.read().splitlines()]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
def test_everything_stands_on_the_screen(state: DemoState, width: int, height: int) -> None:
    lines = drawn(state, width, height)
    text = "\n".join(lines)

    assert len(lines) == height
    assert all(len(line) <= width for line in lines)
    for wanted in (
        "Bifrost: two tenants on one Kafka 4.3.1",
        "0:03 of 0:15",
        "tenant acme",
        "tenant globex",
        "sees topic orders, group shop",
        "sees no topic",
        "sent 40  read 39  crossed 0",
        "sent 2  read 2  crossed 1",
        "__vt_acme_orders",
        "__vt_globex_orders",
        "__consumer_offsets",
        "__vt_acme_shop",
        "127.0.0.1:9092",
        "acme / a0a0a0a0",
        "globex / 9b9b9b9b",
        "kcat -F /tmp/d/acme.kcat",
    ):
        assert wanted in text


def test_consoles_stand_side_by_side_and_show_the_newest(state: DemoState) -> None:
    lines = drawn(state, 80, 24)

    (title,) = [line for line in lines if "tenant acme" in line]
    assert "tenant globex" in title
    assert any("read    #40 1 anvil" in line for line in lines)
    assert not any("#1 1 anvil" in line for line in lines)
    assert any("crossed #1 3 anvil of acme" in line for line in lines)


def test_long_command_is_folded_not_cut_where_there_is_room(state: DemoState) -> None:
    assert "\n".join(drawn(state, 120, 40)).count("console") == 20
    assert "console" not in "\n".join(drawn(state, 80, 24))


@pytest.mark.parametrize(("width", "height"), [(30, 10), (20, 5), (1, 1)])
def test_tiny_terminal_is_no_error(state: DemoState, width: int, height: int) -> None:
    assert len(drawn(state, width, height)) <= height


def test_locale_without_box_characters_gets_ascii(state: DemoState) -> None:
    text = "".join(drawn(state, 80, 24, "ascii"))

    assert text.isascii()
    assert "tenant acme" in text


def test_before_the_first_look_nothing_is_claimed(state: DemoState) -> None:
    text = "\n".join(drawn(replace(state, observation=Observation()), 80, 24))

    assert "sees" not in text


def test_summary_names_both_sides_and_the_verdict(state: DemoState) -> None:
    console = Console(file=io.StringIO(), width=80, _environ={})
    with console.capture() as captured:
        console.print(summary(state.tenants, state.observation, "orders"))

    lines = captured.get().splitlines()
    assert lines[0].split() == ["tenant", "topic", "sent", "read", "lost", "crossed", "on", "the", "broker"]
    assert lines[1].split() == ["acme", "orders", "40", "39", "1", "0", "__vt_acme_orders", "(40)"]
    assert lines[2].split() == ["globex", "orders", "2", "2", "0", "1", "__vt_globex_orders", "(2)"]
    assert lines[3] == "1 crossed, 1 lost."

"""What growth may cost, and that the page's figures of it are gates."""

import pytest
from bench.goals import Goal, kept_in
from bench.growth import PAGE, PARTS, _tell_missed
from bench.growth_goals import judge_growth
from bench.page import DOCS, between
from bench.table import Table


def _table(**rows: dict[str, list[float]]) -> Table:
    return Table("CPU per request", "PLAINTEXT", "µs", 1, rows=rows)


def test_tenants_cost_what_the_fewest_cost() -> None:
    rows = {
        "1": {"haproxy: ListOffsets": [9.0], "gateway: ListOffsets": [10.0, 30.0, 10.0]},
        "10": {"haproxy: ListOffsets": [99.0], "gateway: ListOffsets": [11.5]},
        "100": {"haproxy: ListOffsets": [9.0], "gateway: ListOffsets": [11.6]},
    }

    found = judge_growth("tenants", _table(**rows))

    assert [(one.what, one.unit, one.limit, one.is_kept) for one in found] == [
        ("CPU of ListOffsets with 10 tenants", "of that with 1", 1.15, True),
        ("CPU of ListOffsets with 100 tenants", "of that with 1", 1.15, False),
    ]


def test_each_kind_of_request_is_flat_over_topics_and_a_relay_need_not_be() -> None:
    rows = {
        "100": {"gateway: Metadata of one": [10.0], "gateway: Metadata of all": [400.0]},
        "1,000": {
            "gateway: Metadata of one": [12.0],
            "gateway: Metadata of all": [410.0],
            "haproxy: Metadata of all": [9000.0],
        },
    }

    assert [(one.what, one.is_kept) for one in judge_growth("topics", _table(**rows))] == [
        ("CPU of Metadata of one with 1,000 topics", False),
        ("CPU of Metadata of all with 1,000 topics", True),
    ]


@pytest.mark.parametrize("relay", ["haproxy", "relay"])
def test_connections_cost_what_they_cost_the_relay(relay: str) -> None:
    rows = {
        "10": {f"{relay}: ListOffsets": [10.0], "gateway: ListOffsets": [11.0]},
        "9,900": {f"{relay}: ListOffsets": [20.0], "gateway: ListOffsets": [23.0, 22.5, 23.5]},
        "10,000": {f"{relay}: ListOffsets": [20.0], "gateway: ListOffsets": []},
    }

    found = judge_growth("connections", _table(**rows))

    assert [(one.what, round(one.reached, 2), one.limit, one.is_kept) for one in found] == [
        ("CPU per request with 10 connections", 1.1, 1.1, True),
        ("CPU per request with 9,900 connections", 1.15, 1.1, False),
    ]


def test_a_larger_request_has_no_goal() -> None:
    assert judge_growth("partitions", _table(**{"1": {"gateway: one topic's": [1.0]}})) == []


def test_a_goal_falls_only_if_the_page_says_that_it_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    goals = [Goal("a", 1.2, 1.1, "of b"), Goal("c", 1.2, 1.15, "of d"), Goal("e", 1.0, 1.1, "of f")]

    assert not _tell_missed(goals, {("a", "of d"), ("e", "of f")})
    assert _tell_missed(goals, {("c", "of d")})
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["missed", "a:"],
        ["missed", "c:"],
        ["missed", "a:"],
        ["fell", "c:"],
    ]


def test_partitions_have_no_gates_on_the_page() -> None:
    assert kept_in(between((DOCS / PAGE).read_text("utf-8"), "growth-partitions")) == set()


@pytest.mark.parametrize("part", [one for one in PARTS if one != "partitions"])
def test_the_goals_of_the_page_are_those_of_its_figures(part: str) -> None:
    section = between((DOCS / PAGE).read_text("utf-8"), f"growth-{part}")
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    (_, *series), *figures = cells[: next(n for n, row in enumerate(cells) if "reached" in row)]
    table = _table(
        **{
            count: {
                name: [float(cell.split()[0].replace(",", ""))]
                for name, cell in zip(series, values, strict=True)
            }
            for count, *values in figures
            if count != "---"
        }
    )

    goals = {(one.what, one.unit): one for one in judge_growth(part, table)}
    written = {
        (row[0], row[3]): float(row[1].strip("*"))
        for row in cells
        if len(row) == 4 and row[2].startswith("≤")
    }

    assert len(goals) >= 4
    assert written.keys() == goals.keys()
    # The page has figures with one digit, from which the benchmark itself did not compute the ratios.
    assert all(abs(goals[key].reached - reached) < 0.02 for key, reached in written.items())
    assert kept_in(section) == {key for key, reached in written.items() if reached <= goals[key].limit}

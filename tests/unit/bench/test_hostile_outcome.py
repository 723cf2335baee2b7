"""What an attack's figures mean: costs of records, goals, and the table, in which a run replaces its rows."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from bench.hostile.attack import Attack
from bench.hostile.calibration import solve
from bench.hostile.diary import Latencies
from bench.hostile.field import Field, Sent
from bench.hostile.outcome import Outcome, Process, RecordsCost, as_text
from bench.hostile.report import Row, as_section, new_rows, read_rows, section_of

CALM = Latencies(p50_ms=1, p99_ms=5, max_ms=20, count=1000, failed=0)
GOOD = Outcome(
    name="an-attack",
    what="it does something",
    before=CALM,
    during=replace(CALM, p99_ms=14, max_ms=110),
    control=CALM,
    joins=CALM,
    joins_before=CALM,
    used=Process(
        gateway_cpu_s=1, broker_cpu_s=1, compiler_cpu_s=3, memory_mib=100, stall_ms=50, stall_cpu_ms=9
    ),
    broker_allowed_s=1,
    sent=Sent(bytes=1 << 20),
    wall_s=5,
)


def test_an_attack_that_is_not_felt_misses_nothing() -> None:
    assert GOOD.missed == ()
    assert GOOD.cells("**")[-1] == "-"


@pytest.mark.parametrize(
    ("goal", "change"),
    [
        ("p99", {"during": replace(CALM, p99_ms=16)}),
        ("p99", {"during": replace(CALM, count=0)}),
        ("max", {"during": replace(CALM, max_ms=121)}),
        ("records lost", {"during": replace(CALM, failed=1)}),
        ("joins", {"joins": replace(CALM, failed=1)}),
        ("stall", {"used": replace(GOOD.used, stall_cpu_ms=11)}),
        ("memory", {"used": replace(GOOD.used, memory_mib=201)}),
        ("broker", {"used": replace(GOOD.used, broker_cpu_s=1.4)}),
        ("port plain dead", {"broken": "port plain dead"}),
        ("7 not sent", {"sent": Sent(left_out=7)}),
    ],
)
def test_each_goal_can_be_missed(goal: str, change: dict[str, object]) -> None:
    assert replace(GOOD, **change).missed == (goal,)


def test_what_sharing_the_machine_costs_is_no_fault_of_the_gateway() -> None:
    slow = replace(CALM, p99_ms=300, max_ms=900)

    assert replace(GOOD, during=slow).missed == ("p99", "max")
    assert replace(GOOD, during=slow, control=slow).missed == ()
    assert replace(GOOD, during=slow, is_victim_judged=False).missed == ()


def test_what_a_broker_compiles_is_shown_and_not_judged() -> None:
    busy = replace(GOOD, used=replace(GOOD.used, broker_cpu_s=0.25, compiler_cpu_s=5))

    assert busy.missed == ()
    assert "0.25 (5.00) / 1.00" in busy.cells()


def test_requests_written_at_once_count_by_their_answers() -> None:
    assert Sent(frames=19, answers=50_000).requests == 50_000
    assert Sent(frames=19, answers=3).requests == 19


def test_the_table_says_what_was_missed() -> None:
    bad = replace(GOOD, name="another", used=replace(GOOD.used, memory_mib=250))

    assert "**250**" in bad.cells("**")
    assert as_text([GOOD, bad]).splitlines()[2].endswith("memory")


def test_records_cost_by_request_and_by_byte() -> None:
    cost = solve((1000, 0.2, 0.5), (100, 50, 0.55))

    assert cost == RecordsCost(per_request_s=0.0005, per_mib_s=pytest.approx(0.01))
    assert cost.of(1000, 2 << 20) == pytest.approx(0.52)
    assert cost.of(1, 2 << 20) == pytest.approx(128 * 0.0005 + 0.02)
    assert solve((1000, 0.2, 0.5), (100, 50, 0.01)).per_mib_s == 0


def _nothing(_field: Field) -> Iterator[None]:
    yield


ATTACKS = [Attack(name, f"it does {name}", _nothing) for name in ("first", "second", "third")]
BAD = replace(GOOD, name="first", used=replace(GOOD.used, memory_mib=250))


def test_what_is_written_is_read_again() -> None:
    rows = new_rows([BAD, replace(GOOD, name="second")], "An idle machine. Brokers: 1.")

    section = as_section(rows, ATTACKS)

    assert read_rows(section) == rows
    assert "| **250** |" in section
    assert "* `second`: it does second." in section
    assert section.startswith("1 of 2 attacks are not felt.")


def test_a_run_of_some_attacks_leaves_the_rows_of_the_others() -> None:
    before = new_rows([BAD, replace(GOOD, name="third")], "Yesterday.")
    now = new_rows([replace(GOOD, name="first"), replace(GOOD, name="second")], "Today.")

    section = as_section(read_rows(as_section(before, ATTACKS)) | now, ATTACKS)

    assert section.splitlines()[:4] == [
        "3 of 3 attacks are not felt. The runs:",
        "",
        "1. Today.",
        "2. Yesterday.",
    ]
    rows = read_rows(section)
    assert [(name, row.run) for name, row in rows.items()] == [
        ("first", "Today."),
        ("second", "Today."),
        ("third", "Yesterday."),
    ]


def test_attacks_that_are_not_listed_any_more_and_runs_without_rows_are_left_out() -> None:
    rows = {"gone": Row(("gone",), "Long ago."), **new_rows([BAD], "Today.")}

    section = as_section(rows, ATTACKS)

    assert "gone" not in section
    assert "Long ago." not in section


@pytest.mark.parametrize(
    ("brokers", "is_single", "name"),
    [
        (1, False, "hostile"),
        (3, False, "hostile-3-brokers"),
        (3, True, "hostile-3-brokers-single-address"),
    ],
)
def test_each_kind_of_cluster_and_address_has_a_section(brokers: int, is_single: bool, name: str) -> None:
    assert section_of(brokers, is_single=is_single) == name


def test_other_sections_do_not_say_again_what_attacks_do() -> None:
    section = as_section(new_rows([BAD], "Today."), ATTACKS, describes=False)

    assert section.splitlines()[-1].startswith("| first |")


def test_a_page_without_a_table_has_no_rows() -> None:
    assert read_rows("") == {}

import json

import pytest

from bifrost.control.clusters.group_state import GroupMember, GroupState
from support.control.table_backend import TableBackend
from support.physical_names import physical_name
from unit.cli.admin.conftest import Run

TOOL = ("kafka-consumer-groups", "--namespace", "acme")
REPORTS, ORDERS = physical_name("acme", "reports"), physical_name("acme", "orders")
RESET = ("--reset-offsets", "--group", "reports")


@pytest.fixture
def backend(run: Run, backends: list[TableBackend]) -> TableBackend:
    (found,) = backends
    found.ends = {(ORDERS, 0): (0, 10), (ORDERS, 1): (0, 4)}
    found.groups = {
        REPORTS: GroupState("Empty", (), {(ORDERS, 0): 6}),
        physical_name("acme", "sums"): GroupState("Stable", (GroupMember("m-1", "m", "/10.0.0.1"),), {}),
    }
    return found


@pytest.mark.usefixtures("backend")
def test_groups_are_listed_and_described_as_kafkas_tool_does(run: Run) -> None:
    assert run(*TOOL, "--list") == (0, "reports\nsums\n", "")
    assert run(*TOOL, "--list", "--state") == (0, "reports\tEmpty\nsums\tStable\n", "")
    warning = "Consumer group 'reports' has no active members.\n"
    assert run(*TOOL, "--describe", "--group", "reports") == (0, "reports\torders\t0\t6\t10\t4\n", warning)
    assert run(*TOOL, "--describe", "--all-groups", "--state") == (
        0,
        "reports\tEmpty\t0\nsums\tStable\t1\n",
        "",
    )
    assert run(*TOOL, "--describe", "--group", "sums", "--members") == (0, "sums\tm-1\t/10.0.0.1\tm\n", "")
    status, output, _ = run(*TOOL, "--describe", "--group", "reports", "--json")
    assert (status, json.loads(output)["state"]) == (0, "Empty")
    assert len(json.loads(run(*TOOL, "--list", "--json")[1])["groups"]) == 2


def test_a_group_is_deleted(run: Run, backend: TableBackend) -> None:
    told = "Deletion of requested consumer groups ('reports') was successful.\n"
    assert run(*TOOL, "--delete", "--group", "reports") == (0, told, "")

    assert REPORTS not in backend.groups
    status, _, errors = run(*TOOL, "--delete", "--group", "reports")
    assert (status, "group reports of namespace acme does not exist" in errors) == (1, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--topic", "orders", "--to-earliest"], "reports\torders\t0\t0\nreports\torders\t1\t0\n"),
        (["--topic", "orders:1", "--to-latest"], "reports\torders\t1\t4\n"),
        (["--topic", "orders:0,1", "--to-offset", "3"], "reports\torders\t0\t3\nreports\torders\t1\t3\n"),
        (["--all-topics", "--shift-by", "-2"], "reports\torders\t0\t4\n"),
        (["--all-topics", "--to-current"], "reports\torders\t0\t6\n"),
        (["--all-topics", "--to-datetime", "1970-01-01T00:00:00.005"], "reports\torders\t0\t5\n"),
        (["--all-topics", "--to-datetime", "1970-01-01T01:00:00.005+01:00"], "reports\torders\t0\t5\n"),
    ],
)
def test_a_group_is_set_back_only_with_execute(
    run: Run, backend: TableBackend, options: list[str], expected: str
) -> None:
    before = backend.groups[REPORTS]
    assert run(*TOOL, *RESET, *options) == (0, expected, "nothing was changed: --execute does it\n")
    assert backend.groups[REPORTS] == before

    assert run(*TOOL, *RESET, *options, "--execute") == (0, expected, "")

    rows = [line.split("\t") for line in expected.splitlines()]
    found = {(ORDERS, int(partition)): int(offset) for _, _, partition, offset in rows}
    assert backend.groups[REPORTS].offsets == {**before.offsets, **found}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give exactly one of --list, --describe, --delete, --reset-offsets"),
        (["--list", "--delete"], "give exactly one of"),
        (["--list", "--group", "a"], "--list takes no group"),
        (["--describe"], "which groups?"),
        (["--delete", "--group", "a", "--all-groups"], "which groups?"),
        (["--delete", "--group", "a", "--state"], "goes with --describe and --list"),
        (["--list", "--members"], "go with --describe"),
        (["--describe", "--group", "a", "--members", "--state"], "at most one of"),
        (["--describe", "--group", "a", "--execute"], "go with --reset-offsets"),
        ([*RESET, "--all-topics"], "give exactly one of --to-earliest"),
        ([*RESET, "--all-topics", "--to-latest", "--shift-by", "1"], "give exactly one of --to-earliest"),
        ([*RESET, "--to-latest"], "give --topic, or --all-topics"),
        ([*RESET, "--all-topics", "--topic", "a", "--to-latest"], "give --topic, or --all-topics"),
        ([*RESET, "--all-topics", "--to-latest", "--execute", "--dry-run"], "--execute or --dry-run"),
        ([*RESET, "--all-topics", "--to-datetime", "yesterday"], "is no time"),
        (["--delete-offsets", "--group", "a", "--topic", "b"], "No such option: --delete-offsets"),
    ],
)
def test_a_command_line_that_is_wrong_is_refused(run: Run, arguments: list[str], expected: str) -> None:
    status, output, errors = run(*TOOL, *arguments)

    assert (status, output) == (2, "")
    assert expected in errors

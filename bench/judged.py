"""The command line of a benchmark of a section of a page: measures, judges, and writes the section if asked to."""

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.goals import Goal, as_markdown, kept_in
from bench.machine import Machine
from bench.page import DOCS, between, replace_between
from bench.table import Table

PAGE = "performance.md"


def run_judged(
    section: str,
    description: str,
    measure: Callable[[ExitStack, bool], list[Table]],
    judge: Callable[[list[Table]], list[Goal]],
) -> int:
    """Measure, print, and write the section of the page if asked to; return the status to exit with.

    Args:
        section: its name in the page, and in that of the target of `make`.
        description: what `--help` says.
        measure: makes the tables; what it starts ends with the stack. The flag asks for one short round.
        judge: says of the tables what was reached of the goals.
    """
    parser = argparse.ArgumentParser(prog=f"make bench-{section}", description=description)
    parser.add_argument("--quick", action="store_true", help="one short round of everything")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal fell")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the tables to a folder's page")
    options = parser.parse_args()
    machine = Machine.now()
    print(machine)
    with ExitStack() as running:
        tables = measure(running, options.quick)
    machine = machine.after()
    goals, gates = judge(tables), kept_in(between((DOCS / PAGE).read_text("utf-8"), section))
    parts = [f"{machine}. {machine.load}.", as_markdown(goals), *(one.as_markdown() for one in tables)]
    text = "\n\n".join(parts)
    print(f"\n{text}")
    if options.plot:
        page = options.plot / PAGE
        page.write_text(replace_between(page.read_text("utf-8"), section, text), "utf-8")
    fallen = False
    for one in goals:
        if not one.is_kept:
            is_gate = (one.what, one.unit) in gates  # It is kept by what the page has.
            fallen |= is_gate
            print(f"{'fell  ' if is_gate else 'missed'}  {one}")
    return 1 if options.check and fallen else 0

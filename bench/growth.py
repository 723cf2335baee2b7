"""`make bench-growth`: what does not grow with tenants, topics, connections or partitions, and what does.

A real gateway before a stub broker (`bench/stub_broker.py`) that stands in for Kafka, which would itself be the limit.
What the page says is kept is a gate, as in `make bench`: a goal that is missed now fell.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.certificates import make_certificate
from bench.goals import Goal, as_markdown, kept_in
from bench.growth_goals import judge_growth
from bench.growths import QUICK, Growth, Growths, Pace
from bench.line_chart import draw_lines
from bench.machine import Machine
from bench.memory import raise_descriptor_limit
from bench.page import DOCS, between, replace_between

PAGE = "performance.md"
PARTS = ("tenants", "topics", "connections", "partitions")


def main() -> int:
    """Measure, print, draw if asked to; return 1 when a goal fell and `--check` is given."""
    options = _options()
    raise_descriptor_limit()
    machine, started = Machine.now(), time.monotonic()
    print(machine)
    found: dict[str, Growth] = {}
    with tempfile.TemporaryDirectory(prefix="bifrost-growth-") as name:
        directory = Path(name)
        growths = Growths(make_certificate(directory), directory, QUICK if options.quick else Pace(), print)
        for part in [options.only] if options.only else PARTS:
            growth = found[part] = getattr(growths, part)()
            for table in growth.tables:
                print(f"\n{table.as_text()}", flush=True)
    machine = machine.after()
    print(f"\n{machine.load}; {time.monotonic() - started:.0f} s")
    goals = {part: judge_growth(part, growth.tables[0]) for part, growth in found.items()}
    page = (DOCS / PAGE).read_text("utf-8")
    has_fallen = [_tell_missed(goals[part], kept_in(between(page, f"growth-{part}"))) for part in found]
    if options.plot:
        for part, growth in found.items():
            _write(options.plot, part, machine, growth, goals[part])
    return 1 if options.check and any(has_fallen) else 0


def _tell_missed(goals: list[Goal], gates: set[tuple[str, str]]) -> bool:
    """Print which goals of a part are missed; return whether the page says that one of them is kept."""
    missed = [one for one in goals if not one.is_kept]
    fallen = [one for one in missed if (one.what, one.unit) in gates]
    for one in missed:
        print(f"{'fell  ' if one in fallen else 'missed'}  {one}")
    return bool(fallen)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-growth", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal fell")
    parser.add_argument("--only", choices=PARTS, help="one of them")
    parser.add_argument(
        "--plot", type=Path, metavar="FOLDER", help="write tables and plots to a folder's pages"
    )
    return parser.parse_args()


def _write(folder: Path, part: str, machine: Machine, growth: Growth, goals: list[Goal]) -> None:
    """Write one growth's tables into the page of a folder, and its plot beside it."""
    name = f"growth-{part}.svg"
    (folder / name).write_text(draw_lines(growth.lines), encoding="utf-8")
    text = [
        f"{machine}. {machine.load}.",
        f"![{growth.lines.title}]({name})",
        *(one.as_markdown() for one in growth.tables),
        *([as_markdown(goals)] if goals else []),
    ]
    page = folder / PAGE
    changed = replace_between(page.read_text(encoding="utf-8"), f"growth-{part}", "\n\n".join(text))
    page.write_text(changed, encoding="utf-8")
    print(f"written: {page}, {name}")


if __name__ == "__main__":
    sys.exit(main())

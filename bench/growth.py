"""`make bench-growth`: what does not grow with tenants, topics, connections or partitions, and what does.

A real gateway before a stub broker (`bench/stub_broker.py`) that stands in for Kafka, which would itself be the limit.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.certificates import make_certificate
from bench.growths import QUICK, Growth, Growths, Pace
from bench.line_chart import draw_lines
from bench.machine import Machine
from bench.memory import raise_descriptor_limit
from bench.page import replace_between

PAGE = "performance.md"
PARTS = ("tenants", "topics", "connections", "partitions")


def main() -> int:
    """Measure, print, draw if asked to."""
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
    if options.plot:
        for part, growth in found.items():
            _write(options.plot, part, machine, growth)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-growth", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", choices=PARTS, help="one of them")
    parser.add_argument(
        "--plot", type=Path, metavar="FOLDER", help="write tables and plots to a folder's pages"
    )
    return parser.parse_args()


def _write(folder: Path, part: str, machine: Machine, growth: Growth) -> None:
    """Write one growth's tables into the page of a folder, and its plot beside it."""
    name = f"growth-{part}.svg"
    (folder / name).write_text(draw_lines(growth.lines), encoding="utf-8")
    text = [
        f"{machine}. {machine.load}.",
        f"![{growth.lines.title}]({name})",
        *(one.as_markdown() for one in growth.tables),
    ]
    page = folder / PAGE
    changed = replace_between(page.read_text(encoding="utf-8"), f"growth-{part}", "\n\n".join(text))
    page.write_text(changed, encoding="utf-8")
    print(f"written: {page}, {name}")


if __name__ == "__main__":
    sys.exit(main())

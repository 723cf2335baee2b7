"""`make bench-records`: the record codec, encryption, and gateways whose filters see the records.

The codec stands beside the compression libraries alone and encryption beside the cipher alone; a gateway with filters
beside one without, in turns, for the same work.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench import goals
from bench.bar_chart import draw_bars
from bench.goals import Goal
from bench.machine import Machine
from bench.memory import raise_descriptor_limit
from bench.page import replace_between
from bench.records.codec import measure_codecs
from bench.records.cost import measure_cost
from bench.records.filtered import start
from bench.records.goals import judge
from bench.records.latency import measure_latency
from bench.records.memory import measure_memory
from bench.records.sealing import measure_sealing, sizes
from bench.records.size import measure_size
from bench.table import Table

ALONE = ("codec", "sealing")
WITH_GATEWAYS = ("cost", "size", "latency", "memory")
ROUNDS, COST_S, LATENCY_S, MEMORY_S = 7, 0.5, 4.0, 30.0
PAGE, DRAWING = "performance.md", "performance-records.svg"
TITLE = "Filters of records beside a gateway without filters"


def main() -> int:
    """Measure, print, write the pages if asked to, and judge."""
    options = _options()
    raise_descriptor_limit()
    machine = Machine.now()
    print(machine)
    parts = options.only or [*ALONE, *WITH_GATEWAYS]
    rounds = 1 if options.quick else options.rounds
    alone = {part: _measure_alone(part, rounds) for part in parts if part in ALONE}
    tables = _measure([part for part in parts if part in WITH_GATEWAYS], rounds, options.seconds)
    machine = machine.after()
    print(f"\n{machine.load}")
    found = judge(tables)
    if options.plot:
        _write(options.plot, machine, alone, tables, found)
    missed = [one for one in found if not one.is_kept]
    for one in missed:
        print(f"missed  {one}")
    print(f"{len(found) - len(missed)} of {len(found)} goals are kept")
    return 1 if options.check and missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-records", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of every figure")
    parser.add_argument("--quick", action="store_true", help="one round of everything")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal is missed")
    parser.add_argument("--only", nargs="+", choices=(*ALONE, *WITH_GATEWAYS), help="some parts of it")
    parser.add_argument("--seconds", type=float, default=MEMORY_S, help="of steady load, for its memory")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the tables to a folder's pages")
    return parser.parse_args()


def _measure_alone(part: str, rounds: int) -> str:
    """Measure what needs no gateway; return it for a page."""
    if part == "codec":
        return _shown(measure_codecs(rounds))
    text = _shown(measure_sealing(rounds))
    print(f"\n{sizes()}")
    return f"{text}\n\n{sizes()}"


def _measure(parts: list[str], rounds: int, seconds: float) -> list[Table]:
    if not parts:
        return []
    tables: list[Table] = []
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        filtered = start(running, directory)
        for part in parts:
            if part == "cost":
                tables += measure_cost(filtered, rounds, COST_S)
            elif part == "size":
                tables.append(measure_size(filtered))
            elif part == "latency":
                tables.append(measure_latency(filtered, max(1, rounds // 2), LATENCY_S))
            else:
                tables.append(measure_memory(filtered, seconds))
    for table in tables:
        _shown(table)
    return tables


def _shown(table: Table) -> str:
    print(f"\n{table.as_text()}", flush=True)
    return table.as_markdown()


def _write(
    folder: Path, machine: Machine, alone: dict[str, str], tables: list[Table], found: list[Goal]
) -> None:
    """Write what was measured into its pages, and the plot beside them."""
    head = f"{machine}. {machine.load}.\n\n"
    pages = {"codec": ("records.md", "speed"), "sealing": ("encryption.md", "speed")}
    texts = {pages[part]: head + text for part, text in alone.items()}
    if tables:
        subtitle = f"{machine}: bars are medians, lines minimum to maximum"
        (folder / DRAWING).write_text(draw_bars(TITLE, subtitle, tables), encoding="utf-8")
        parts = [goals.as_markdown(found), f"![{TITLE}]({DRAWING})", *(one.as_markdown() for one in tables)]
        texts[PAGE, "records"] = head + "\n\n".join(parts)
    for (name, place), text in texts.items():
        page = folder / name
        page.write_text(replace_between(page.read_text(encoding="utf-8"), place, text), "utf-8")
        print(f"written: {page}")


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-pipeline`: a generated month of journal through meter and bill: rows a second, memory, growth.

Beside them the least Spark job that reads, parses and sums the same files: what `meter` takes beyond it is its own.

Each run is the command itself, in a process of its own. The smallest journal is run with each number of partitions,
the larger ones with as many as the machine has cores: so both growths are seen without hours of waiting. CPU time is
what to compare on a machine where others work too.
"""

import argparse
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import Machine
from bench.page import replace_between
from bench.watched import CommandError, Run, run_watched
from bifrost.pipeline.spark.runtime import SPARK_VERSION

ROOT = Path(__file__).resolve().parents[1]
MONTH = "2026-10"
PAGE, SECTION = "performance.md", "pipeline"
JOURNAL_BYTES, TABLE_BYTES, BILL_BYTES = 65, 75, 600 << 20
"""On disk: of a row as journal and in the tables with what is not valid any more, and of a bill, at most."""
SAY_EVERY_S = 10.0
_BATCH = re.compile(r"batch=\d+ rows=(\d+) ")


@dataclass(frozen=True)
class Figures:
    """One journal through meter and bill, and through the least job (`bench.spark_floor`)."""

    rows: int
    cores: int
    meter: Run
    bill: Run
    floor: Run

    @property
    def rows_per_s(self) -> float:
        """Of both together."""
        return self.rows / (self.meter.seconds + self.bill.seconds)


class Progress:
    """Says how far a run is: on a terminal in one line, else now and then."""

    def __init__(self, name: str, rows: int) -> None:
        self._name, self._rows, self._done = name, rows, 0
        self._begin = self._said = time.monotonic()

    def __call__(self, line: str) -> None:
        found = _BATCH.match(line)
        if not found:
            return
        self._done += int(found[1])
        now = time.monotonic()
        is_terminal = sys.stderr.isatty()
        if not is_terminal and now - self._said < SAY_EVERY_S:
            return
        self._said, rate = now, self._done / (now - self._begin)
        left = (self._rows - self._done) / rate
        text = f"{self._name}: {self._done:,} of {self._rows:,} rows, {rate:,.0f} rows/s, {left:,.0f} s left"
        print(
            f"\r\x1b[K{text}" if is_terminal else text,
            end="" if is_terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        """Clear the line."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Measure, print, write the page if asked to."""
    options = _options()
    sizes, cores = sorted(options.rows), sorted(options.cores)
    machine, started = Machine.now(), time.monotonic()
    print(f"{_where(machine)}. Heap {options.driver_memory}", flush=True)
    figures: list[Figures] = []
    generated: list[tuple[int, Run]] = []
    with tempfile.TemporaryDirectory(prefix="bifrost-bench-", dir=options.scratch) as name:
        directory = Path(name)
        _check_disk(directory, sizes[-1])
        bench = Bench(directory, options.tenants, options.driver_memory)
        try:
            for rows in sizes:
                generated.append((rows, bench.generate(rows)))
                wanted = cores if rows == sizes[0] else [min(cores[-1], os.cpu_count() or 1)]
                figures += [bench.measure(rows, one, _print) for one in wanted]
                shutil.rmtree(directory / f"journal-{rows}")
        except CommandError as error:
            sys.exit(f"error: {error}")
    machine = machine.after()
    print(f"{machine.load}; {time.monotonic() - started:,.0f} s")
    if options.plot:
        _write(options.plot / PAGE, machine, options.driver_memory, generated, figures)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-pipeline", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=_numbers, default=[200_000], help="of each journal, e.g. 5000000,50000000"
    )
    parser.add_argument(
        "--cores", type=_numbers, default=[1, 2, 4], help="partitions of the smallest one's runs"
    )
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--driver-memory", default="2g", help="Spark's heap")
    parser.add_argument(
        "--scratch", type=Path, help="where journal and tables lie meanwhile, in place of /tmp"
    )
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the tables to a folder's page")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    numbers = [int(one) for one in text.split(",")]
    if min(numbers) < 1:
        raise ValueError(text)
    return numbers


def _check_disk(directory: Path, rows: int) -> None:
    needed, free = rows * (JOURNAL_BYTES + TABLE_BYTES) + BILL_BYTES, shutil.disk_usage(directory).free
    print(
        f"needs {needed / 1e9:.1f} GB below {directory.parent} for {rows:,} rows; {free / 1e9:.1f} GB are free"
    )
    if free < needed:
        sys.exit("error: too little disk: name another folder with --scratch, or fewer --rows")


class Bench:
    """Runs the commands, one at a time."""

    def __init__(self, directory: Path, tenants: int, memory: str) -> None:
        self._directory, self._tenants, self._memory = directory, tenants, memory

    def generate(self, rows: int) -> Run:
        """Make a journal."""
        out = str(self._directory / f"journal-{rows}")
        shape = ("--rows", str(rows), "--tenants", str(self._tenants), "--month", MONTH)
        done = run_watched("-m", "bench.journal_generator", *shape, "--out", out)
        print(
            f"{rows:>12,} rows generated in {done.seconds:,.1f} s ({rows / done.seconds:,.0f} rows/s)",
            flush=True,
        )
        return done

    def measure(self, rows: int, cores: int, tell: Callable[[Figures], None]) -> Figures:
        """Run both jobs over a journal."""
        spark = ("--master", f"local[{cores}]", "--driver-memory", self._memory)
        tables, out = self._directory / "tables", self._directory / "bill"
        journal = str(self._directory / f"journal-{rows}")
        progress = Progress(f"meter, {cores} partitions", rows)
        jobs = ("-m", "bifrost", "pipeline")
        meter = run_watched(
            *jobs, "meter", "--files", journal, "--tables", str(tables), "--once", *spark, tell=progress
        )
        progress.end()
        book = str(ROOT / "examples/price-book.yaml")
        what = ("--tables", str(tables), "--out", str(out), "--month", MONTH, "--price-book", book)
        bill = run_watched(*jobs, "bill", *what, *spark)
        for folder in (tables, out):
            shutil.rmtree(folder)
        floor = run_watched("-m", "bench.spark_floor", "--files", journal, *spark)
        figures = Figures(rows, cores, meter, bill, floor)
        tell(figures)
        return figures


def _print(one: Figures) -> None:
    for name, run in (("meter", one.meter), ("bill", one.bill), ("floor", one.floor)):
        print(
            f"{one.rows:>12,} rows, {one.cores} partitions: {name:5} {run.seconds:>8,.1f} s, "
            f"{one.rows / run.seconds:>9,.0f} rows/s, {run.cpu_s / one.rows * 1e6:>6,.1f} CPU µs/row, "
            f"{run.peak_mib:>6,.0f} MiB at most",
            flush=True,
        )


def as_markdown(generated: Sequence[tuple[int, Run]], figures: Sequence[Figures]) -> str:
    """Return the figures as a page has them, with what the largest journal takes in relation to the smallest."""
    made = dict(generated)
    meter = "meter, s | rows/s | CPU µs/row | floor, CPU µs/row | MiB"
    head = f"rows | partitions | generated, s | {meter} | bill, s | MiB | both, rows/s"
    lines = [f"| {head} |", f"|{' ---: |' * 11}"]
    for one in figures:
        cells = [
            f"{one.rows:,}",
            f"{one.cores}",
            f"{made[one.rows].seconds:,.0f}",
            f"{one.meter.seconds:,.0f}",
            f"{one.rows / one.meter.seconds:,.0f}",
            f"{one.meter.cpu_s / one.rows * 1e6:,.0f}",
            f"{one.floor.cpu_s / one.rows * 1e6:,.0f}",
            f"{one.meter.peak_mib:,.0f}",
            f"{one.bill.seconds:,.0f}",
            f"{one.bill.peak_mib:,.0f}",
            f"{one.rows_per_s:,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    largest = figures[-1]
    smallest = next((one for one in figures if one.cores == largest.cores and one.rows < largest.rows), None)
    if smallest:
        rows = largest.rows / smallest.rows
        seconds = smallest.rows_per_s / largest.rows_per_s * rows
        lines += [
            "",
            f"{rows:.3g} times the rows took {seconds:.3g} times as long ({largest.cores} partitions).",
        ]
    return "\n".join(lines)


def _where(machine: Machine) -> str:
    cores = f"{machine.cores} cores, Python {platform.python_version()}, Spark {SPARK_VERSION}"
    return f"{machine.processor}, {cores}, {machine.date}"


def _write(
    page: Path,
    machine: Machine,
    memory: str,
    generated: Sequence[tuple[int, Run]],
    figures: Sequence[Figures],
) -> None:
    text = f"{_where(machine)}. Heap {memory}. {machine.load}.\n\n{as_markdown(generated, figures)}"
    page.write_text(replace_between(page.read_text(encoding="utf-8"), SECTION, text), encoding="utf-8")
    print(f"written: {page}")


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-pipeline`: a generated month of journal through meter and bill: rows a second, peak memory, growth.

Each run is the command itself in a process of its own; memory is the largest sum of the resident sizes of that
process and all its children, the JVM above all. Rows grow fivefold, cores from 1 to what is asked for; the figures
are of this machine as it is loaded now.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
MONTH = "2026-10"
SAMPLE_S = 0.25


@dataclass(frozen=True)
class Run:
    """One command that ended."""

    seconds: float
    peak_mib: float


def run(*arguments: str) -> Run:
    """Run a command and watch its memory."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(SAMPLE_S):
            peak = max(peak, _resident_mib(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _out, errors = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(arguments)}\n{errors}")
    return Run(time.monotonic() - begin, peak)


def _resident_mib(pid: int) -> float:
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return 0.0
    total = 0
    for one in family:
        try:
            total += one.memory_info().rss
        except psutil.Error:
            continue
    return total / (1 << 20)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench-pipeline", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=int, default=200_000, help="of the largest journal; a month of 200 tenants: 50000000"
    )
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--cores", type=int, default=min(4, os.cpu_count() or 1), help="of the largest run")
    parser.add_argument("--driver-memory", default="2g")
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load before: {os.getloadavg()[0]:.1f}; heap {options.driver_memory}")
    print(f"{'rows':>12} {'cores':>5} {'job':>6} {'s':>8} {'rows/s':>10} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory(prefix="bifrost-bench-") as directory:
        sizes = [max(1, options.rows // 10), options.rows]
        for rows in sizes:
            journal = f"{directory}/journal-{rows}"
            run(
                "-m",
                "bench.journal_generator",
                "--rows",
                str(rows),
                "--tenants",
                str(options.tenants),
                "--out",
                journal,
            )
            for cores in (
                [1, options.cores] if rows == options.rows and options.cores > 1 else [options.cores]
            ):
                _measure(directory, journal, rows, cores, options.driver_memory)
    print(f"load after: {os.getloadavg()[0]:.1f}")
    return 0


def _measure(directory: str, journal: str, rows: int, cores: int, memory: str) -> None:
    spark = ["--master", f"local[{cores}]", "--driver-memory", memory]
    tables, out = f"{directory}/tables-{rows}-{cores}", f"{directory}/bill-{rows}-{cores}"
    metered = run(
        "-m", "bifrost", "pipeline", "meter", "--files", journal, "--tables", tables, "--once", *spark
    )
    _print(rows, cores, "meter", metered)
    book = str(ROOT / "examples/price-book.yaml")
    command = ["bill", "--tables", tables, "--out", out, "--month", MONTH, "--price-book", book]
    _print(rows, cores, "bill", run("-m", "bifrost", "pipeline", *command, *spark))


def _print(rows: int, cores: int, job: str, done: Run) -> None:
    print(
        f"{rows:>12,} {cores:>5} {job:>6} {done.seconds:>8.1f} {rows / done.seconds:>10,.0f} {done.peak_mib:>9,.0f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())

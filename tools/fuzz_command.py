"""What the fuzz tools share that check one batch, value or message after the other."""

import argparse
import faulthandler
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol

SHOWN_EVERY = 100_000


class Run(Protocol):
    """Checks that many things made from a seed; returns how many came out how."""

    def __call__(self, count: int, seed: int, *, started: float | None = None) -> Counter[str]:
        """Show progress if the time of the start is given, on the monotonic clock, in seconds."""


def fuzz(run: Run, description: str, units: str, fuzzed: ModuleType) -> int:
    """Fuzz as the arguments of the command say; return the exit code.

    Args:
        run: the tool.
        description: what it does.
        units: what it counts, in the plural.
        fuzzed: the compiled module, which the output names: it may be built under a sanitizer.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{units}", type=int, default=1_000_000, dest="count")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    faulthandler.enable()
    print(f"fuzzing {fuzzed.__file__}", flush=True)
    outcomes = run(arguments.count, arguments.seed, started=time.monotonic())
    print(f"nothing wrong in {arguments.count:,} {units}, seed {arguments.seed}: {dict(outcomes)}")
    return 0


@contextmanager
def repeatable(units: str, number: int, seed: int, data: bytes) -> Iterator[None]:
    """Add to an error in this context what was checked, and how to repeat it."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"number {number} of the {units}: {data.hex()}")
        error.add_note(f"repeat with --seed {seed} --{units} {number + 1}")
        raise


def show_progress(units: str, number: int, started: float | None, outcomes: Counter[str]) -> None:
    """Print now and then how far a run is."""
    if started is not None and number % SHOWN_EVERY == SHOWN_EVERY - 1:
        rate = number / (time.monotonic() - started)
        print(f"{number + 1:,} {units}, {rate:,.0f}/s: {dict(outcomes)}", flush=True)

"""`make hostile`: each attack of the list beside a tenant that behaves well, and what that tenant feels.

The attacker runs at the lowest priority. After each attack the same bytes go through an L4 relay into a sink at the
same pace: what the victim feels of that is what sharing the machine costs, and no fault of the gateway.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.hostile.arsenal import ATTACKS
from bench.hostile.attack import Attack
from bench.hostile.attacker_process import TrialError
from bench.hostile.calibration import measure_records
from bench.hostile.outcome import HEAD, Outcome, RecordsCost, as_text
from bench.hostile.report import as_section, new_rows, read_rows, section_of
from bench.hostile.stage import Stage
from bench.hostile.trial import QUICK, Pace, Trial
from bench.machine import Machine
from bench.memory import raise_descriptor_limit
from bench.page import between, replace_between

PAGE = "security.md"


def main() -> int:
    """Run attacks, print what came of them, and judge."""
    options = _options()
    raise_descriptor_limit()
    chosen = chosen_attacks(options.only)
    machine, started = Machine.now(), time.monotonic()
    print(machine)
    outcomes, errors, cost = _run(chosen, options.quick, options.brokers, is_single=options.single)
    machine = machine.after()
    print(f"\n{as_text(outcomes)}")
    print(f"\n{machine.load}; {time.monotonic() - started:.0f} s; {_told(cost)}")
    missed = [one for one in outcomes if one.missed]
    for one in missed:
        print(f"missed  {one.name}: {', '.join(one.missed)}")
    for error in errors:
        print(f"error   {error}", file=sys.stderr)
    print(f"{len(outcomes) - len(missed)} of {len(outcomes)} attacks are not felt")
    if options.plot:
        part = section_of(options.brokers, is_single=options.single)
        _write(
            options.plot,
            part,
            outcomes,
            f"{machine}. {machine.load}. Brokers: {options.brokers}; {_told(cost)}.",
        )
    return 2 if errors else 1 if options.check and missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make hostile", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short attacks")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal is missed")
    parser.add_argument("--only", help="names of attacks or beginnings of them, separated by commas")
    parser.add_argument("--brokers", type=int, default=1, help="how many brokers the cluster has")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the rows to a folder's page")
    parser.add_argument("--single", action="store_true", help="behind a single address")
    options = parser.parse_args()
    return options


def chosen_attacks(only: str | None) -> list[Attack]:
    """Return the attacks whose names begin so; those of `only` that are whole names stand for themselves."""
    listed = [one for one in ATTACKS.values() if one.is_listed]
    if only is None:
        return listed
    found: dict[str, Attack] = {}
    for text in only.split(","):
        matching = {one.name: one for one in listed if one.name.startswith(text)}
        if not matching:
            sys.exit(
                f"error: no attack begins with {text}; there are {', '.join(one.name for one in listed)}"
            )
        found |= {text: matching[text]} if text in matching else matching
    return list(found.values())


def _run(
    chosen: list[Attack], is_quick: bool, brokers: int, *, is_single: bool
) -> tuple[list[Outcome], list[str], RecordsCost]:
    outcomes: list[Outcome] = []
    errors: list[str] = []
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-hostile-")))
        stage = running.enter_context(Stage(directory, brokers, is_single=is_single))
        trial = Trial(stage, QUICK if is_quick else Pace(), RecordsCost(0, 0))
        trial.cost = measure_records(trial)
        print(_told(trial.cost), flush=True)
        print(", ".join(HEAD), flush=True)
        for attack in chosen:
            try:
                outcome = trial.run(attack)
            except TrialError as error:
                errors.append(str(error))
                print(f"error   {error}", file=sys.stderr, flush=True)
                if stage.unserved_port() is not None:
                    stage.recover()
                continue
            outcomes.append(outcome)
            print(f"{', '.join(outcome.cells())}; {_details(outcome)}", flush=True)
            if outcome.during.failed or outcome.joins.failed:
                print(f"  {stage.victim_errors()}", flush=True)
        return outcomes, errors, trial.cost


def _details(outcome: Outcome) -> str:
    sent = outcome.sent
    details = [f"{sent.requests} requests, {sent.answers} answers, {sent.connections} connections"]
    if sent.closed:
        details.append(f"{sent.closed} closed")
    if sent.slowest_s:
        details.append(f"slowest answer {sent.slowest_s:.2f} s {sent.slowest}".rstrip())
    return "; ".join([*details, *sent.notes])


def _told(cost: RecordsCost) -> str:
    costs = f"{cost.per_request_s * 1e6:.0f} µs a request and {cost.per_mib_s * 1e3:.1f} ms a MiB"
    return f"records cost the brokers {costs}"


def _write(folder: Path, part: str, outcomes: list[Outcome], run: str) -> None:
    path = folder / PAGE
    page = path.read_text(encoding="utf-8")
    rows = read_rows(between(page, part)) | new_rows(outcomes, run)
    listed = [one for one in ATTACKS.values() if one.is_listed]
    section = as_section(rows, listed, describes=part == section_of(1, is_single=False))
    path.write_text(replace_between(page, part, section), "utf-8")


if __name__ == "__main__":
    sys.exit(main())

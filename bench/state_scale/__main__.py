"""`make bench-state`: how a gateway starts with a large state, what that takes, and what its decisions cost.

The gateway and the Kafka that has the state are real; decisions are asked of the models, without a connection.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.certificates import make_certificate
from bench.kafka import BenchKafka
from bench.laboratory import TENANT, Laboratory, free_port
from bench.machine import Machine
from bench.page import replace_between
from bench.state_scale.decisions import Decisions
from bench.state_scale.state_log import Size
from bench.state_scale.stored import store
from bench.table import Table

PAGE = "state.md"
ROUNDS = 3
MOST_START_S = 5.0
FLAT = 1.05
"""A decision may call so many times as many functions with a hundred times as much in the state."""
FLAT_US = 1.5
"""One about the same names may take so many times as long: what is between the names in memory takes caches of the
processor as well. One about ever other names has no goal: of a large state the processor has to fetch them."""

READY_TIMEOUT_S = 300.0
"""A gateway with a large state needs its time on a busy machine, and that is what is measured."""

WITHOUT = "no state"


def main() -> int:
    """Measure, print, and write the page if asked to."""
    options = _options()
    machine = Machine.now()
    print(machine)
    rounds = 1 if options.quick else ROUNDS
    decided = _decide(rounds)
    for table in decided:
        print(f"\n{table.as_text()}", flush=True)
    started = _start([Size().part(10), Size()], rounds)
    for table in started:
        print(f"\n{table.as_text()}", flush=True)
    machine = machine.after()
    print(f"\n{machine.load}")
    if options.plot:
        page = options.plot / PAGE
        text = "\n\n".join(
            [f"{machine}. {machine.load}.", *(one.as_markdown() for one in (*started, *decided))]
        )
        page.write_text(replace_between(page.read_text("utf-8"), "state-scale", text), "utf-8")
        print(f"written: {page}")
    missed = list(_missed(started[0], *decided[:2]))
    for one in missed:
        print(f"missed  {one}")
    return 1 if options.check and missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-state", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal is missed")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the tables to a folder's page")
    return parser.parse_args()


def _label(size: Size) -> str:
    return f"{size.namespaces:,} namespaces, {size.acls:,} ACLs, {size.aliases:,} aliases"


def _decide(rounds: int) -> list[Table]:
    calls = Table("Functions that a decision calls, all of one tenant", "", "", 1)
    again = Table("A decision about one of 200 names, all of one tenant", "", "µs", 1)
    others = Table("A decision about ever other names, all of one tenant", "", "µs", 1)
    for divisor in (100, 10, 1):
        part = Size().part(divisor)
        decisions = Decisions(Size(part.namespaces, part.acls, part.aliases, 1))
        list(decisions.all())  # The first round fills what is remembered.
        for _ in range(rounds):
            for name, cost in decisions.all():
                for table, value in zip((calls, again, others), cost, strict=True):
                    table.add(name, _label(part), value)
    return [calls, again, others]


def _start(sizes: list[Size], rounds: int) -> list[Table]:
    """Start gateways, and measure them once they serve."""
    seconds = Table("From the start of the process until it serves", "", "s", 2)
    cpu = Table("CPU time until then", "", "s", 2)
    memory = Table("Resident memory then", "", "MiB", 0)
    peak = Table("The most until then", "", "MiB", 0)
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        certificate = make_certificate(directory)
        kafka = running.enter_context(BenchKafka(certificate, free_port()))
        laboratory = Laboratory.of(kafka, certificate, directory)
        topics = {WITHOUT: ""}
        for size in sizes:
            topics[_label(size)] = topic = f"__state-{size.acls}"
            store(kafka.bootstrap, topic, size)
        for _ in range(rounds):
            for label, topic in topics.items():
                more = f"state: {{topic: {topic}}}" if topic else ""
                began_s = time.monotonic()
                with laboratory.gateway(
                    Size().tenants,
                    more=more,
                    of_tenants="acls: {super_users: [User:admin], max_stored: 1000000}",
                    visits=False,
                    ready_timeout_s=READY_TIMEOUT_S,
                ) as (subject, _):
                    subject.connect().close()  # A port takes connections before the gateway serves them.
                    seconds.add(label, TENANT, time.monotonic() - began_s)
                    cpu.add(label, TENANT, subject.cpu_s())
                    memory.add(label, TENANT, subject.resident_mib())
                    peak.add(label, TENANT, subject.peak_mib())
    return [seconds, cpu, memory, peak]


def _missed(seconds: Table, calls: Table, again: Table) -> list[str]:
    """Return the goals that were missed."""
    full, least = _label(Size()), _label(Size().part(100))
    wrong = []
    start_s = min(seconds.rows[full][TENANT])
    if start_s > MOST_START_S:
        wrong.append(f"start: {start_s:.1f} s, the goal is {MOST_START_S:.0f} s")
    for table, most, what in ((calls, FLAT, "functions"), (again, FLAT_US, "time")):
        for name, row in table.rows.items():
            ratio = min(row[full]) / min(row[least])
            if ratio > most:
                wrong.append(f"{name}: {ratio:.2f} times the {what} with a hundred times as much")
    return wrong


if __name__ == "__main__":
    sys.exit(main())

"""`make bench`: everything in one run, on one embedded Kafka.

The rounds of the subjects alternate (direct, HAProxy, gateway, direct, ...), because a machine's speed drifts; what is
compared stood side by side. CPU time is that of the process in between, user and system.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.bar_chart import draw_bars
from bench.certificates import make_certificate
from bench.goals import Goal, as_markdown, judge, kept_in
from bench.kafka import BenchKafka
from bench.laboratory import MANY_TENANTS, Laboratory, free_port
from bench.machine import Machine
from bench.memory import raise_descriptor_limit
from bench.page import DOCS, between, replace_between
from bench.proxies import Proxies, ProxiesError, load_proxies
from bench.run import PARTS, QUICK, Pace, Run
from bench.subjects import PROTOCOLS
from bench.table import Table
from bench.topics import Topics

PAGE = "performance.md"
"""What the page says is kept is a gate: a goal that is missed now fell. One that it says is missed is none."""


def main() -> int:
    """Measure, print, draw if asked to, and judge."""
    options = _options()
    raise_descriptor_limit()
    try:
        proxies = load_proxies(options.proxies) if options.proxies else None
    except ProxiesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    machine, started = Machine.now(), time.monotonic()
    print(machine)
    tables = _measure(options, proxies)
    machine = machine.after()
    print(f"\n{machine.load}; {time.monotonic() - started:.0f} s")
    all_goals = judge(tables, machine.cores)
    gates = kept_in(between((DOCS / PAGE).read_text("utf-8"), "figures"))
    if options.plot:
        _write(options.plot, machine, tables, all_goals)
    missed = [one for one in all_goals if not one.is_kept]
    fallen = [one for one in missed if (one.what, one.unit) in gates]
    for one in missed:
        print(f"{'fell  ' if one in fallen else 'missed'}  {one}")
    print(
        f"{len(all_goals) - len(missed)} of {len(all_goals)} goals are kept; {len(fallen)} fell since {PAGE}"
    )
    return 1 if options.check and fallen else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round of everything")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal fell")
    parser.add_argument("--protocol", choices=PROTOCOLS, help="one of the two")
    parser.add_argument("--only", choices=PARTS, help="a part of it")
    parser.add_argument(
        "--plot", type=Path, metavar="FOLDER", help="write tables and plots to a folder's pages"
    )
    parser.add_argument("--proxies", type=Path, metavar="FILE", help="other proxies beside it")
    return parser.parse_args()


def _measure(options: argparse.Namespace, proxies: Proxies | None) -> list[Table]:
    pace = QUICK if options.quick else Pace()
    protocols = [options.protocol] if options.protocol else PROTOCOLS
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        certificate = make_certificate(directory)
        kafka = BenchKafka(certificate, free_port(), None if proxies is None else proxies.kafka_port)
        laboratory = Laboratory.of(running.enter_context(kafka), certificate, directory)
        subjects = [
            *laboratory.direct(),
            *running.enter_context(laboratory.relay(is_for_clients=True)),
            *running.enter_context(laboratory.gateway()),
            *running.enter_context(laboratory.gateway(MANY_TENANTS)),
        ]
        others = [laboratory.other(one) for one in (proxies.proxies if proxies else ())]
        topics = Topics(pace.read_mib)
        topics.make([*subjects, *others])
        run = Run(laboratory, [*subjects, *others], others, topics, pace, protocols, _show)
        run.measure([options.only] if options.only else PARTS)
    return run.tables


def _show(table: Table) -> None:
    print(f"\n{table.as_text()}", flush=True)


def _write(folder: Path, machine: Machine, tables: list[Table], all_goals: list[Goal]) -> None:
    """Write the tables into the page of a folder, and the plots beside it."""
    parts = [f"{machine}. {machine.load}.", "### Goals", as_markdown(all_goals)]
    for protocol in PROTOCOLS:
        found = [one for one in tables if one.protocol == protocol]
        name = f"performance-{protocol.lower()}.svg"
        title = f"The gateway beside HAProxy and a direct connection, {protocol}"
        drawing = draw_bars(title, f"{machine}: bars are medians, lines minimum to maximum", found)
        (folder / name).write_text(drawing, encoding="utf-8")
        parts += [f"### {protocol}", f"![{title}]({name})", *(one.as_markdown() for one in found)]
    page = folder / PAGE
    page.write_text(replace_between(page.read_text(encoding="utf-8"), "figures", "\n\n".join(parts)), "utf-8")
    print(f"written: {page} and its plots")


if __name__ == "__main__":
    sys.exit(main())

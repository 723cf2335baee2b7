"""`make hostile-direct`: what the requests of attacks do to another client of a broker that has no gateway before it.

Attacker and victim are those of `make hostile`; both talk to the broker itself. So a row shows what Kafka and the
shared cores make of the same requests, without limits, beside what `make hostile` shows of the gateway.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from bench.hostile.__main__ import PAGE, chosen_attacks
from bench.hostile.attack import Attack
from bench.hostile.attacker_process import AttackerProcess, TrialError, warm_up
from bench.hostile.diary import Diary, Latencies
from bench.hostile.field import Sent, Target
from bench.hostile.stage import BROKER_PROPERTIES, HEAP_MB, JAVA_OPTIONS, READY_S, TOPIC, make_topic
from bench.hostile.trial import CATCH_UP_S, Pace
from bench.machine import Machine
from bench.page import replace_between
from bench.subjects import cpu_s_of
from bifrost.embedded.child import Child, tail
from bifrost.embedded.kafka import EmbeddedKafka

SECTION = "hostile-direct"
HEAD = ("attack", "p50 ms before / during", "p99 ms", "max ms", "broker CPU s", "sent MiB")


@dataclass(frozen=True)
class DirectOutcome:
    """What came of one attack."""

    name: str
    before: Latencies
    during: Latencies
    broker_cpu_s: float
    """Beyond what the victim alone makes it use."""
    sent: Sent

    def cells(self) -> list[str]:
        """Return the row."""
        phases = (self.before, self.during)
        return [
            self.name,
            *(
                " / ".join(f"{value:.1f}" for value in values)
                for values in (
                    [one.p50_ms for one in phases],
                    [one.p99_ms for one in phases],
                    [one.max_ms for one in phases],
                )
            ),
            f"{max(self.broker_cpu_s, 0):.2f}",
            f"{self.sent.bytes / 2**20:.1f}",
        ]


class DirectStage:
    """A broker, and a victim that sends it records; a context manager."""

    def __init__(self, directory: Path, kafka: EmbeddedKafka | None = None) -> None:
        """Start nothing yet; `kafka` is a broker that runs, if there is one."""
        self._directory, self._kafka = directory, kafka
        self._started, self._running = 0, ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self) -> None:
        self.kafka = self._kafka or self._running.enter_context(
            EmbeddedKafka(heap_mb=HEAP_MB, properties=BROKER_PROPERTIES, java_options=JAVA_OPTIONS)
        )
        self.target, victim = (self._target(f"{name}-{TOPIC}") for name in ("attacker", "victim"))
        path = self.new_file("diary")
        path.touch()
        target = victim.write(self.new_file("victim.json"))
        command = [sys.executable, "-m", "bench.hostile.victim", "records", str(target), str(path)]
        child = Child(command, log_file=self.new_file("victim.log"))
        self._running.callback(child.stop)
        self.records = Diary(path)
        if not self.records.await_due(0, READY_S, lambda: child.exit_status() is None):
            raise RuntimeError(f"the victim does not work:\n{tail(child.log())}")

    def _target(self, topic: str) -> Target:
        port = self.kafka.broker_port(1)
        target = Target(port, port, port, "", "", "", topic, "", 0, 0, broker_port=port)
        return replace(target, topic_id=make_topic(target)[0])

    def broker_cpu_s(self) -> float:
        """Return the CPU time of the broker so far."""
        return sum(map(cpu_s_of, self.kafka.pids))

    def stop_brokers(self, number: int) -> None:
        """Send the broker a signal."""
        for pid in self.kafka.pids:
            os.kill(pid, signal.Signals(number))

    def new_file(self, suffix: str) -> Path:
        """Return the path of another file."""
        self._started += 1
        return self._directory / f"{self._started}.{suffix}"


def run(stage: DirectStage, attack: Attack, pace: Pace) -> DirectOutcome:
    """Run an attack.

    Raises:
        TrialError: it did not work, or the victim did not.
    """
    target = replace(stage.target, seconds=attack.seconds * pace.factor)
    warm_up(attack, target, stage)
    attacker = AttackerProcess(attack.name, target, stage)
    try:
        time.sleep(pace.settle_s)
        calm_s, calm_cpu_s = time.monotonic(), stage.broker_cpu_s()
        time.sleep(pace.calm_s)
        begin_s, begin_cpu_s = time.monotonic(), stage.broker_cpu_s()
        sent = attacker.attack(attack.stops_brokers)
    finally:
        attacker.end()
    end_s, cpu_s = time.monotonic(), stage.broker_cpu_s() - begin_cpu_s
    if not stage.records.await_due(end_s, CATCH_UP_S, lambda: True):
        raise TrialError(f"{attack.name}: the victim never had its records")
    victim_s = (begin_cpu_s - calm_cpu_s) * (end_s - begin_s) / (begin_s - calm_s)
    before, during = (stage.records.between(*one) for one in ((calm_s, begin_s), (begin_s, end_s)))
    return DirectOutcome(attack.name, before, during, cpu_s - victim_s, sent)


def as_section(outcomes: Iterable[DirectOutcome], run_by: str) -> str:
    """Return a page's section."""
    lines = [list(HEAD), ["---", *["---:"] * (len(HEAD) - 1)], *(one.cells() for one in outcomes)]
    return "\n".join([run_by, "", *(f"| {' | '.join(line)} |" for line in lines)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run attacks, and print what came of them."""
    parser = argparse.ArgumentParser(prog="make hostile-direct", description=__doc__.splitlines()[0])
    parser.add_argument("--only", required=True, help="names of attacks that need no TLS and no login")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the table to a folder's page")
    options = parser.parse_args(arguments)
    machine = Machine.now()
    outcomes, status = [], 0
    with tempfile.TemporaryDirectory(prefix="bifrost-hostile-") as directory:
        print(", ".join(HEAD), flush=True)
        with DirectStage(Path(directory)) as stage:
            for attack in chosen_attacks(options.only):
                try:
                    outcomes.append(run(stage, attack, Pace()))
                except TrialError as error:
                    print(f"error   {error}", file=sys.stderr, flush=True)
                    status = 2
                else:
                    print(", ".join(outcomes[-1].cells()), flush=True)
    machine = machine.after()
    if options.plot:
        path = options.plot / PAGE
        section = as_section(outcomes, f"{machine}. {machine.load}.")
        path.write_text(replace_between(path.read_text("utf-8"), SECTION, section), "utf-8")
        print(f"written: {path}")
    return status


if __name__ == "__main__":
    sys.exit(main())

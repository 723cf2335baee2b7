"""The process of one attack: it is started, told to begin, and heard at its end."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Protocol

from bench.hostile.attack import Attack
from bench.hostile.field import Sent, Target

OVERRUN_S = 90.0
"""How much longer than asked an attacker may take: it may wait for an answer."""
STOPPED_S, GOING_S = 4.0, 1.5
"""For how long brokers stand still, and how long they go on in between: longer than their session time-out."""


class TrialError(Exception):
    """The attack could not be run, or never reached the gateway: the suite is at fault, not the gateway."""


class Files(Protocol):
    """Where an attack runs: it has room for files, and brokers that can be stopped."""

    def new_file(self, suffix: str) -> Path:
        """Return the path of another file."""

    def stop_brokers(self, number: int) -> None:
        """Send all brokers a signal."""


class AttackerProcess:
    """The process of one attack, ready to begin."""

    def __init__(self, name: str, target: Target, stage: Files) -> None:
        """Start it, and wait until it has prepared what it sends.

        Raises:
            TrialError: it cannot.
        """
        self._name, self._stage = name, stage
        self._seconds = target.seconds
        file = target.write(stage.new_file("target.json"))
        self._errors = stage.new_file("attacker.log")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.hostile.attacker", str(file), name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            self.end()
            raise TrialError(f"{name} cannot prepare itself:\n{_last_lines(self._errors)}")

    def attack(self, stops_brokers: bool) -> Sent:
        """Let it begin, and return what it has sent once it is over.

        Raises:
            TrialError: it failed.
        """
        over = threading.Event()
        stopper = threading.Thread(target=self._stop_brokers, args=(over,))
        if stops_brokers:
            stopper.start()
        try:
            told, _ = self._process.communicate("go\n", self._seconds + OVERRUN_S)
        except subprocess.TimeoutExpired:
            raise TrialError(f"{self._name} did not end") from None
        finally:
            over.set()
            if stops_brokers:
                stopper.join()
        if self._process.returncode or not told.strip():
            raise TrialError(f"{self._name} failed:\n{_last_lines(self._errors)}")
        return Sent(**json.loads(told.splitlines()[-1]))

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _stop_brokers(self, over: threading.Event) -> None:
        while not over.is_set():
            self._stage.stop_brokers(signal.SIGSTOP)
            over.wait(STOPPED_S)
            self._stage.stop_brokers(signal.SIGCONT)
            over.wait(GOING_S)


def warm_up(attack: Attack, target: Target, stage: Files) -> None:
    """Run an attack once before it counts, if brokers do most of its work.

    A broker's first thousands of requests of a kind keep its just-in-time compiler busy, on the same two cores; one
    that has run for days has that behind it.

    Raises:
        TrialError: it did not work.
    """
    if attack.is_warmed:
        attacker = AttackerProcess(attack.name, target, stage)
        try:
            attacker.attack(attack.stops_brokers)
        finally:
            attacker.end()


def _last_lines(path: Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-12:])

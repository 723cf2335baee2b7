"""One attack, from the calm before it to the control after it.

calm: the victim alone ─▶ attack ─▶ until the victim has caught up ─▶ control: the same bytes through a relay
"""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench.hostile.attack import Attack, Evidence
from bench.hostile.attacker_process import AttackerProcess, TrialError, warm_up
from bench.hostile.diary import NONE, Latencies
from bench.hostile.field import Sent, Target
from bench.hostile.outcome import Outcome, Process, RecordsCost
from bench.hostile.stage import VICTIM, Metrics, Stage

CATCH_UP_S = 90.0
"""How long the victim may take to have its records once an attack is over."""
_VICTIMS = {("tenant", VICTIM), ("api", "SaslHandshake"), ("api", "SaslAuthenticate")}
"""Labels of what the victim may have counted: before authentication no client has a name."""

FRESH_MIB = 120.0
"""A gateway that has more resident memory before an attack is replaced."""
STALL_LARGEST = "bifrost_event_loop_stall_largest_seconds"


@dataclass(frozen=True)
class Pace:
    """How long everything takes, in seconds."""

    calm_s: float = 3.0
    settle_s: float = 1.0
    factor: float = 1.0
    """Of the attacks' own times."""


QUICK = Pace(calm_s=1.0, settle_s=0.5, factor=0.4)


@dataclass(frozen=True)
class Reading:
    """What was used so far, at one moment."""

    at_s: float
    gateway_s: float
    broker_s: float
    compiler_s: float


class Trial:
    """Runs attacks on one stage."""

    def __init__(self, stage: Stage, pace: Pace, cost: RecordsCost) -> None:
        self._stage, self._pace, self.cost = stage, pace, cost
        self._addresses = 0

    def run(self, attack: Attack) -> Outcome:
        """Run an attack and its control.

        Raises:
            TrialError: it did not work.
        """
        stage, pace = self._stage, self._pace
        if stage.has_features != attack.has_features or stage.subject.resident_mib() > FRESH_MIB:
            # Memory that an earlier attack has left behind is not this one's.
            stage.has_features = attack.has_features
            stage.restart_gateway()
        self._addresses += 1
        source = f"127.1.{self._addresses // 250}.{1 + self._addresses % 250}"
        target = replace(stage.target, seconds=attack.seconds * pace.factor, source=source)
        warm_up(attack, target, stage)
        attacker = AttackerProcess(attack.name, target, stage)
        try:
            time.sleep(pace.settle_s)
            calm = self._read()
            time.sleep(pace.calm_s)
            metrics = stage.metrics()
            reset_peak(stage.gateway.pid)
            begin = self._read()
            sent = attacker.attack(attack.stops_brokers)
        finally:
            attacker.end()
        end_s = time.monotonic()
        broken = self._catch_up(end_s)
        end = self._read()
        used = self._used(calm, begin, end)
        if stage.is_alive():
            after = stage.metrics()
            check_evidence(attack, sent, metrics, after, stage.joins.between(begin.at_s - 1, end.at_s).count)
            used = replace(used, stall_ms=_stall_ms(after, "wall"), stall_cpu_ms=_stall_ms(after, "cpu"))
        before, during = (
            stage.records.between(*one) for one in ((calm.at_s, begin.at_s), (begin.at_s, end_s))
        )
        joins_before, joins = (
            stage.joins.between(*one) for one in ((begin.at_s - 10, begin.at_s), (begin.at_s, end_s))
        )
        broken = self._broken() or broken
        if broken:
            stage.recover()
        control = NONE if attack.stops_brokers else self._control(sent, target)
        return Outcome(
            name=attack.name,
            what=attack.what,
            before=before,
            during=during,
            control=control,
            joins=joins,
            joins_before=joins_before,
            used=used,
            broker_allowed_s=self.cost.of(sent.requests, sent.bytes),
            sent=sent,
            wall_s=end.at_s - begin.at_s,
            is_victim_judged=not attack.stops_brokers,
            broken=broken,
        )

    def _broken(self) -> str:
        """Return what does not serve any more; nothing: all does."""
        stage = self._stage
        if not stage.is_alive():
            return "the gateway ended"
        lost = stage.unserved_port()
        if lost is None:
            return ""
        return f"port {lost} dead" if stage.brokers_answer() else "brokers dead"

    def _catch_up(self, end_s: float) -> str:
        """Wait until the victim has what was due; return what is wrong if it never has."""
        stage = self._stage
        if not stage.records.await_due(end_s, CATCH_UP_S, stage.is_alive):
            return "victim stuck"
        # A join takes part of a second, and is written down at its end.
        if not stage.joins.await_due(end_s, CATCH_UP_S, stage.is_alive):
            return "joins stuck"
        return ""

    def _control(self, sent: Sent, target: Target) -> Latencies:
        """Send the same bytes at the same pace through the relay into the sink."""
        stage = self._stage
        if not sent.pace:
            return NONE
        time.sleep(self._pace.settle_s)
        pace_file = stage.new_file("pace.json")
        pace_file.write_text(json.dumps(sorted((int(at), *what) for at, what in sent.pace.items())))
        port = stage.relay_port
        aimed = replace(target, plain_port=port, pace_file=str(pace_file))
        replay = AttackerProcess("replay", aimed, stage)
        try:
            begin_s = time.monotonic()
            replay.attack(False)
            end_s = time.monotonic()
        finally:
            replay.end()
        stage.records.await_due(end_s, CATCH_UP_S, stage.is_alive)
        return stage.records.between(begin_s, end_s)

    def _read(self) -> Reading:
        stage = self._stage
        return Reading(time.monotonic(), stage.subject.cpu_s(), stage.broker_cpu_s(), stage.compiler_cpu_s())

    def _used(self, calm: Reading, begin: Reading, end: Reading) -> Process:
        """Return what was used beyond what the victim alone uses."""
        ratio = (end.at_s - begin.at_s) / (begin.at_s - calm.at_s)
        return Process(
            end.gateway_s - begin.gateway_s - ratio * (begin.gateway_s - calm.gateway_s),
            end.broker_s - begin.broker_s - ratio * (begin.broker_s - calm.broker_s),
            end.compiler_s - begin.compiler_s,
            self._stage.subject.peak_mib() if self._stage.is_alive() else 0.0,
            0.0,
            0.0,
        )


def check_evidence(attack: Attack, sent: Sent, before: Metrics, after: Metrics, joins: int) -> None:
    """Check that an attack has reached the gateway; `joins` is how many the victim has made meanwhile.

    Raises:
        TrialError: it has not.
    """
    if attack.evidence is not Evidence.REQUESTS and sent.answers:
        return
    name = attack.evidence.value
    # A request is counted when it is done, which may take longer than the attack: that it has logged in says enough.
    others = ("kafka_proxy_limits_hit_total", "kafka_proxy_authentications_total")
    more = _of_others(after, name) - _of_others(before, name)
    if attack.evidence is Evidence.CONNECTIONS:
        open_now = "kafka_proxy_active_client_connections"
        more += _of_others(after, open_now) - _of_others(before, open_now)
        # Reasons have no tenant; a join of the victim takes two connections.
        more -= 2 * (joins + 1)
    if more <= 0 and all(_of_others(after, one) <= _of_others(before, one) for one in others):
        raise TrialError(f"{attack.name} has not reached the gateway: {name} shows nothing of it")


def reset_peak(pid: int) -> None:
    """Let the kernel forget how much was resident at most (proc_pid_clear_refs(5), 5)."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _of_others(metrics: Metrics, name: str) -> float:
    found = metrics.get(name, {})
    return sum(value for labels, value in found.items() if not _VICTIMS & set(labels))


def _stall_ms(metrics: Metrics, clock: str) -> float:
    found = metrics.get(STALL_LARGEST, {})
    wanted = {("since", "scrape"), ("clock", clock)}
    return max((1000 * value for labels, value in found.items() if wanted <= set(labels)), default=0.0)

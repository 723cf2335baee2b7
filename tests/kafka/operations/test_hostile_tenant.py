"""A small part of `make hostile`: the suite itself works, and a tenant gets its records while another attacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.hostile.arsenal import ATTACKS
from bench.hostile.attack import Attack, Evidence
from bench.hostile.attacker_process import TrialError
from bench.hostile.direct import DirectStage
from bench.hostile.direct import as_section as as_direct_section
from bench.hostile.direct import run as run_directly
from bench.hostile.field import Sent
from bench.hostile.outcome import Outcome, RecordsCost
from bench.hostile.report import as_section, new_rows
from bench.hostile.stage import Stage
from bench.hostile.trial import Pace, Trial, check_evidence

from bifrost.embedded.kafka import EmbeddedKafka

PACE = Pace(calm_s=1.0, settle_s=0.2, factor=0.4)
COST = RecordsCost(per_request_s=0.001, per_mib_s=0.01)
PATIENCE_MS = 10_000
"""Tests run beside each other on few cores; the goals themselves are for `make hostile`."""


@pytest.fixture(scope="module")
def stage(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("hostile"), scale=0.1, kafka=kafka) as running:
        yield running


def run(stage: Stage, attack: Attack) -> Outcome:
    outcome = Trial(stage, PACE, COST).run(attack)
    assert outcome.sent.bytes > 0
    assert outcome.sent.connections > 0
    return outcome


@pytest.mark.parametrize("name", ["small-requests", "saslprep-bomb", "half-frames-before-login"])
def test_a_tenant_gets_its_records_while_another_attacks(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lowest priority never runs beside the other tests.
    monkeypatch.setenv("HOSTILE_NICE", "0")
    outcome = run(stage, ATTACKS[name])

    assert outcome.before.count > 100
    # An attack whose connections the gateway closes is soon over: 0.3 s, with 200 records a second.
    assert outcome.during.count > 20
    assert outcome.during.failed == outcome.joins.failed == 0
    assert outcome.during.max_ms < PATIENCE_MS
    assert outcome.control.count > 20
    assert outcome.broken == ""
    assert outcome.used.memory_mib > 20
    assert f"* `{name}`: " in as_section(new_rows([outcome], "now"), [ATTACKS[name]])


def test_an_attack_that_does_not_work_is_an_error(stage: Stage) -> None:
    broken = Attack("no-such-attack", "it is not in the list", ATTACKS["small-requests"].run)
    with pytest.raises(TrialError, match="cannot prepare itself"):
        Trial(stage, PACE, COST).run(broken)

    # A real attack without answers may meet a limit of the gateway, on a busy machine at least, and that is evidence.
    silent = Attack("connection-storm", "its requests are not answered", broken.run, Evidence.ANSWERS)
    metrics = stage.metrics()
    with pytest.raises(TrialError, match="has not reached the gateway"):
        check_evidence(silent, Sent(frames=1), metrics, metrics, joins=0)
    check_evidence(silent, Sent(frames=1, answers=1), metrics, metrics, joins=0)


def test_the_same_requests_are_measured_without_a_gateway(
    kafka: EmbeddedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTILE_NICE", "0")
    with DirectStage(tmp_path, kafka) as direct:
        outcome = run_directly(direct, ATTACKS["small-requests"], PACE)

    assert outcome.before.count > 100
    assert outcome.during.count > 20
    assert outcome.during.failed == 0
    assert outcome.sent.answers > 0
    assert "| small-requests | " in as_direct_section([outcome], "now")

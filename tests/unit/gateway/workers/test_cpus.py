"""How many workers `auto` is."""

import os
from pathlib import Path

import pytest

from bifrost.gateway.workers.cpus import usable_cpus, worker_count


@pytest.fixture(autouse=True)
def _eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def test_a_number_is_that_number() -> None:
    assert worker_count(3) == 3
    assert worker_count("auto") >= 1


def test_without_a_quota_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cpus(tmp_path, tmp_path / "none") == 8


@pytest.mark.parametrize(
    ("quota", "cpus"), [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1)]
)
def test_a_quota_of_cgroup_2_counts_rounded_up(tmp_path: Path, quota: str, cpus: int) -> None:
    (tmp_path / "cpu.max").write_text(quota + "\n")

    assert usable_cpus(tmp_path, tmp_path / "none") == cpus


def test_the_least_of_all_cgroups_around_it_counts(tmp_path: Path) -> None:
    inner = tmp_path / "system.slice" / "gateway.service"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000")
    (inner.parent / "cpu.max").write_text("300000 100000")
    own = tmp_path / "own"
    own.write_text("0::/system.slice/gateway.service\n")

    assert usable_cpus(tmp_path, own) == 3


@pytest.mark.parametrize(("quota", "cpus"), [("-1", 8), ("250000", 3)])
def test_a_quota_of_cgroup_1_counts(tmp_path: Path, quota: str, cpus: int) -> None:
    folder = tmp_path / "cpu" / "docker"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text(quota)
    (folder / "cpu.cfs_period_us").write_text("100000")
    own = tmp_path / "own"
    own.write_text("12:pids:/docker\n4:cpu,cpuacct:/docker\n")

    assert usable_cpus(tmp_path, own) == cpus


def test_what_is_no_number_is_no_quota(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("much of it")

    assert usable_cpus(tmp_path, tmp_path / "none") == 8

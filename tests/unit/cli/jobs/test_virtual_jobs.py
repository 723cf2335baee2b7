import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app
from bifrost.cli.jobs.job_runs import FOUND

FSCK = ["fsck", "--bootstrap-servers", "a:1", "--out", "o"]
PACK = ["pack", "--tables", "t", "--out", "o", "--config", "none"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (FSCK, "--config"),
        ([*FSCK, "--config", "c", "--gateway", "nowhere"], "HOST:PORT"),
        ([*FSCK, "--config", "c", "--gateway", "a:1", "--since", "2026-10-05"], "whole log"),
        ([*FSCK, "--config", "c", "--tenant", "acme"], "--gateway"),
        ([*FSCK, "--config", "none"], "none"),
        (PACK[:-2], "--config"),
        ([*PACK, "--partition-hour-price", "much"], "is no amount"),
        ([*PACK, "--partition-hour-price", "-1"], "is no amount"),
        ([*PACK, "--partition-hour-price", "NaN"], "is no amount"),
        ([*PACK, "--partition-hour-price", "1", "--price-book", "p"], "one of both"),
        ([*PACK, "--price-book", "none"], "cannot be read"),
        ([*PACK, "--max-read-amplification", "0.5"], "--max-read-amplification"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_said_before_spark_starts(
    arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["pipeline", *arguments])

    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(("is_clean", "status"), [(True, 0), (False, FOUND)])
def test_the_status_says_whether_something_is_wrong(
    config_file: Path, monkeypatch: pytest.MonkeyPatch, is_clean: bool, status: int
) -> None:
    done = SimpleNamespace(
        topics=1,
        partitions=12,
        records=70,
        unowned=3,
        shared_keys=0,
        differences=1,
        claims=2,
        by_topic=(("orders", 3),),
        is_clean=is_clean,
    )
    job = SimpleNamespace(run_fsck=lambda *_: done, FsckOptions=lambda *_: None)
    monkeypatch.setitem(sys.modules, "bifrost.pipeline.jobs.fsck", job)
    monkeypatch.setattr("bifrost.cli.jobs.job_runs.check_pyspark", lambda: None)
    monkeypatch.setattr(
        "bifrost.cli.jobs.job_runs.build_session", lambda *_: SimpleNamespace(stop=lambda: None)
    )

    result = CliRunner().invoke(app, ["pipeline", *FSCK, "--config", str(config_file)])

    assert result.exit_code == status
    assert result.stdout.splitlines() == [
        "no virtual partition owns: orders: 3 batches",
        "1 topics, 12 virtual partitions, 70 records; 2 claims are left over",
        "3 batches unowned, 0 keys shared, 1 differences: o/index.html",
    ]

"""The job `advise`: what it writes, for tools and for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from bifrost.pipeline.jobs.advise import AdviseOptions, run_advise
from support.journal.billing import GIB, book
from support.journal.journal_records import Journal


def test_advice_is_written_for_tools_and_for_people(
    metered: Callable[..., None], spark: SparkSession, tmp_path: Path
) -> None:
    batches = {
        "codec": "none",
        "acks": 1,
        "batches": 5000,
        "records": 5000,
        "bytes": GIB,
        "idempotent_batches": 0,
    }
    journal = Journal()
    metered(
        journal.topic("acme", "orders", batches=[batches], client_id="<b>"),
        journal.requests("acme", client_id="<b>", api_version=3, requests=1),
    )

    out = str(tmp_path / "advice")
    done = run_advise(
        spark, AdviseOptions(str(tmp_path / "t"), out, book=book()), "parquet", lambda _text: None
    )

    assert (done.findings, done.clients, done.broken) == (4, 1, 1)
    assert spark.read.parquet(f"{out}/advice.parquet").count() == 4
    assert (tmp_path / "advice/advice.csv").read_text().count("\n") == 5
    page = (tmp_path / "advice/index.html").read_text()
    assert "compression.type=zstd" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.partition("<main>")[2].replace("<b></b>", "")

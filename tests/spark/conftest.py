"""One Spark session for all tests of the pipeline: a JVM takes seconds to start and half a gigabyte to stay."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.billing.price_book import PriceBook
from bifrost.pipeline.certificates.certificate import verify
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.bill import Bill, BillOptions, run_bill
from bifrost.pipeline.jobs.certify import CertifyOptions, run_certify
from bifrost.pipeline.jobs.meter import Meter
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.spark.runtime import find_java_home
from bifrost.pipeline.spark.spark_session import SparkOptions, build_session
from support.journal.billing import book
from support.journal.journal_records import COLUMNS, rows_of
from support.journal.quick_spark import SETTINGS
from support.records.stored_batches import Planter, plant_topics, write_keks
from support.skips.optional_parts import JDK_FOR_SPARK, lacks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this process, with what Delta Lake needs."""
    options = SparkOptions(
        master="local[2]", driver_memory="1g", shuffle_partitions=1, table_format="delta", settings=SETTINGS
    )
    try:
        find_java_home()
    except PipelineError as error:
        # The wheel that brings a Java for Kafka has no JDK that Spark starts on.
        pytest.skip(lacks(JDK_FOR_SPARK, str(error)))
    session = build_session("tests", options)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedKafka]:
    """One broker for the tests that need one: they keep apart by the names of their tenants and topics."""
    with EmbeddedKafka(heap_mb=256) as cluster:
        yield cluster


@pytest.fixture
def topic(spark: SparkSession) -> Callable[..., DataFrame]:
    """Records as the rows that Spark's Kafka source gives."""

    def build(records: Iterable[dict[str, Any] | bytes | None], first_offset: int = 0) -> DataFrame:
        return spark.createDataFrame(rows_of(records, first_offset), COLUMNS).coalesce(1)

    return build


@pytest.fixture
def metered(spark: SparkSession, topic: Callable[..., DataFrame], tmp_path: Path) -> Callable[..., None]:
    """Puts records into tables, as one batch of `meter`."""
    meter = Meter(open_tables(spark, str(tmp_path / "t"), "parquet"), 60)
    batches = iter(range(100))

    def add(*records: dict[str, Any]) -> None:
        number = next(batches)
        meter.apply(topic(records, first_offset=number * 1000), number)

    return add


@pytest.fixture
def bill(spark: SparkSession, tmp_path: Path) -> Callable[..., Bill]:
    """Bills a month of those tables."""

    def make(prices: PriceBook | None = None, month: str = "2026-10", **more: Any) -> Bill:
        named = {"tables": str(tmp_path / "t"), "today": datetime.date(2027, 1, 1), "table_format": "parquet"}
        options = BillOptions(out=str(tmp_path / "out"), book=prices or book(), month=month, **(named | more))
        return run_bill(spark, options, lambda _text: None)

    return make


CERTIFY_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
CERTIFIED_AT = datetime.datetime(2026, 10, 6, tzinfo=datetime.UTC)


@pytest.fixture
def certify(
    spark: SparkSession, topic: Callable[..., DataFrame], tmp_path: Path
) -> Callable[..., dict[str, dict[str, Any]]]:
    """Puts records into tables, and certifies the day 2026-10-05; gives the reports by tenant."""

    def run(records: list[dict[str, Any]], **more: Any) -> dict[str, dict[str, Any]]:
        Meter(open_tables(spark, str(tmp_path / "t"), "parquet"), 60).apply(topic(records), 0)
        options = CertifyOptions(tables=str(tmp_path / "t"), out=str(tmp_path / "out"), **more)
        run_certify(spark, options, CERTIFY_KEY, "parquet", lambda _text: None, CERTIFIED_AT)
        folder = tmp_path / "out" / "2026-10-05"
        texts = {path.stem: path.read_text() for path in folder.glob("*.json")}
        return {name: verify(text, CERTIFY_KEY.public_key()) for name, text in texts.items()}

    return run


@pytest.fixture(scope="session")
def planted(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planter]:
    """The topics of `plant_topics`, in the one broker."""
    planter = Planter(kafka.bootstrap, write_keks(tmp_path_factory.mktemp("keks") / "keks", ("pay", 1)))
    with planter.client:
        plant_topics(planter)
        yield planter

"""One Spark session for all tests of the pipeline: a JVM takes seconds to start and half a gigabyte to stay."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# `support` is the tests' own library; nothing installs it.
sys.path.insert(0, str(Path(__file__).parents[1]))

from bifrost.pipeline.spark_session import SparkOptions, build_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this process, two cores, with what Delta Lake needs."""
    session = build_session(
        "tests", SparkOptions(master="local[2]", driver_memory="1g", table_format="delta")
    )
    yield session
    session.stop()

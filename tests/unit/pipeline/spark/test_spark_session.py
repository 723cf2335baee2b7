import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.spark_session import (
    COMPILE_ALL,
    SparkOptions,
    build_session,
    is_submitted,
    session_settings,
)


def test_packages_are_unpacked_where_executors_look_for_them() -> None:
    settings = session_settings(SparkOptions(master="yarn", packages="hdfs:///jobs.tar.gz"))

    assert settings["spark.archives"] == "hdfs:///jobs.tar.gz#bifrost-packages"
    assert settings["spark.executorEnv.PYTHONPATH"] == "bifrost-packages"
    with pytest.raises(PipelineError, match="local --master"):
        build_session("test", SparkOptions(packages="jobs.tar.gz"))


def test_an_embedded_master_listens_on_this_machine_alone() -> None:
    settings = session_settings(SparkOptions(master="local[3]"))

    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.sql.session.timeZone"] == "UTC"


def test_on_a_cluster_addresses_and_partitions_are_spark_s_business() -> None:
    settings = session_settings(SparkOptions(master="spark://host:7077"))

    assert not any("bindAddress" in name or "shuffle" in name for name in settings)


def test_large_generated_methods_are_compiled_wherever_a_job_runs() -> None:
    embedded, cluster = (session_settings(SparkOptions(master=name)) for name in ("local[2]", "yarn"))

    assert COMPILE_ALL in embedded["spark.driver.extraJavaOptions"]
    assert COMPILE_ALL in cluster["spark.executor.extraJavaOptions"]


def test_delta_needs_its_extension_and_own_settings_win() -> None:
    settings = session_settings(
        SparkOptions(
            table_format="delta", shuffle_partitions=5, settings={"spark.sql.shuffle.partitions": "9"}
        )
    )

    assert "Delta" in settings["spark.sql.extensions"]
    assert settings["spark.sql.shuffle.partitions"] == "9"


def test_spark_submit_is_known_by_the_gateway_it_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert not is_submitted()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert is_submitted()

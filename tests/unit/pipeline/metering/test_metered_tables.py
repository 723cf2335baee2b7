from bifrost.pipeline.metering.metered_tables import (
    KEYS,
    TABLES,
    head_columns,
    journal_schema,
    table_schemas,
)


def test_there_is_a_table_for_each_kind_of_record_and_for_each_sum() -> None:
    sums = {"usage_hourly", "usage_daily", "storage_hourly", "storage_daily"}

    assert set(table_schemas()) == {*TABLES.values(), "rejects"} | sums


def test_every_table_is_divided_by_day() -> None:
    assert [name for name, schema in table_schemas().items() if schema.fieldNames()[0] != "day"] == []


def test_a_table_of_records_has_the_columns_of_the_journal_s_schema() -> None:
    head = [one.name for one in head_columns()]

    for kind, table in TABLES.items():
        names = table_schemas()[table].fieldNames()
        assert set(KEYS) <= set(head)
        assert names == [*head, *journal_schema()[kind].dataType.fieldNames()]


def test_a_column_may_be_absent_from_an_older_file() -> None:
    assert all(one.nullable for schema in table_schemas().values() for one in schema)

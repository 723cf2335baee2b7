from bifrost.filters.virtual.virtual_filters import FILTERS
from bifrost.wire.fields.entities import ANSWERED, REFUSED, SERVED
from bifrost.wire.schema import Field, request_schema, response_schema


def names_partitions(fields: tuple[Field, ...]) -> bool:
    return any("partition" in one.name or names_partitions(one.fields) for one in fields)


def test_each_api_that_names_partitions_has_a_filter() -> None:
    """A new one must not reach the brokers with virtual numbers."""
    served = [one for one in SERVED if one not in REFUSED | ANSWERED]
    naming = {
        one
        for one in served
        if names_partitions(request_schema(one).fields) or names_partitions(response_schema(one).fields)
    }

    assert naming - FILTERS.keys() == set()

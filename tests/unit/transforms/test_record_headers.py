from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.transforms.record_headers import KIND
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.transform_kind import Topic
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty

TOPIC = Topic("acme", "orders", physical_name("acme", "orders").encode())


def headers_after(config: dict[str, object], *headers: Header) -> tuple[Header, ...]:
    batch = only_batch(batch_of([ColumnRecord(0, 0, b"k", b"v", headers)]))
    transform = KIND.make("edge", FilterConfig.model_validate(config), TOPIC)

    outcome = transform.transform(batch, read_columns(batch, plenty()), Direction.FETCH, {}, plenty())

    assert transform.name == "edge"
    return outcome.headers(0)  # type: ignore[union-attr]


def test_it_works_on_both_ways() -> None:
    assert KIND.directions == set(Direction)
    assert KIND.refused_acks(FilterConfig()) == frozenset()


def test_a_header_is_replaced_by_removing_and_adding_it() -> None:
    config = {"remove": ["region"], "add": [{"key": "region", "value": "eü"}]}

    assert headers_after(config, (b"region", b"us"), (b"x", None)) == (
        (b"x", None),
        (b"region", "eü".encode()),
    )


def test_a_renamed_header_is_not_removed() -> None:
    config = {"rename": [{"key": "a", "to": "b"}], "remove": ["a", "b"]}

    assert headers_after(config, (b"a", b"1"), (b"b", b"2")) == ((b"b", b"1"),)

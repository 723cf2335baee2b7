import pytest

from bifrost.routes.shapes import shapes_of
from bifrost.wire.api_keys import ApiKey


def test_topics_are_named_by_id_from_the_version_on_in_which_they_are() -> None:
    assert [shapes_of(ApiKey.FETCH, version).is_by_id for version in (12, 13)] == [False, True]
    assert [shapes_of(ApiKey.PRODUCE, version).is_by_id for version in (12, 13)] == [False, True]


def test_fields_of_fixed_size_in_front_are_found() -> None:
    assert shapes_of(ApiKey.FETCH, 11).offsets == {
        "replica_id": 0,
        "max_wait_ms": 4,
        "min_bytes": 8,
        "max_bytes": 12,
        "isolation_level": 16,
        "session_id": 17,
        "session_epoch": 21,
    }
    assert shapes_of(ApiKey.FETCH, 17).offsets["max_wait_ms"] == 0
    assert shapes_of(ApiKey.PRODUCE, 3).offsets == {}, "a transactional ID comes first"


def test_a_message_without_partitions_has_no_shape() -> None:
    with pytest.raises(ValueError, match="does not list"):
        shapes_of(ApiKey.HEARTBEAT, 4)

import pytest

from bifrost.filters.error_places import error_place
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.schema import response_schema

PAIRS = [(api, version) for api in (*SERVED, *REFUSED) for version in served_versions(api) or ()]


@pytest.mark.parametrize(("api", "version"), PAIRS, ids=lambda value: getattr(value, "name", value))
def test_every_response_has_a_place_for_an_error(api: ApiKey, version: int) -> None:
    place = error_place(api, version)

    is_silent = api == ApiKey.DESCRIBE_LOG_DIRS and version < 3
    assert is_silent or place.error is not None or has_error_in_items(place)


def has_error_in_items(place) -> bool:
    return any(one.place.error is not None or has_error_in_items(one.place) for one in place.lists)


@pytest.mark.parametrize(
    ("api", "version", "lists"),
    [
        (ApiKey.PRODUCE, 9, ["responses <- topic_data", "partition_responses <- partition_data"]),
        (ApiKey.FETCH, 12, ["responses <- topics", "partitions <- partitions"]),
        (ApiKey.FETCH, 13, []),
        (ApiKey.OFFSET_FETCH, 1, ["topics <- topics", "partitions <- partition_indexes"]),
        (ApiKey.OFFSET_FETCH, 7, []),
        (ApiKey.OFFSET_FETCH, 8, ["groups <- groups"]),
        (ApiKey.DELETE_TOPICS, 5, ["responses <- topic_names"]),
        (ApiKey.DELETE_TOPICS, 6, ["responses <- topics"]),
        (ApiKey.LEAVE_GROUP, 3, []),
        (ApiKey.DESCRIBE_LOG_DIRS, 1, []),
    ],
)
def test_a_list_answers_the_list_of_the_request(api: ApiKey, version: int, lists: list[str]) -> None:
    found = []
    place = error_place(api, version)
    while place.lists:
        (one,) = place.lists
        found.append(f"{one.attribute} <- {one.source}")
        place = one.place

    assert found == lists


def test_only_fields_that_identify_an_item_are_copied() -> None:
    keys = error_place(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4).lists[0].place.lists[0].place.keys

    assert [key.attribute for key in keys] == ["partition"]


def test_an_unknown_api_has_no_place() -> None:
    with pytest.raises(KeyError):
        error_place(999, 0)


def test_values_are_those_of_the_version() -> None:
    assert error_place(ApiKey.JOIN_GROUP, 6).values == {}
    assert error_place(ApiKey.JOIN_GROUP, 7).values == {"protocol_name": None}
    assert response_schema(ApiKey.JOIN_GROUP).name == "JoinGroupResponse"

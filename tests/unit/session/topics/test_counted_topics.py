"""Counts of a tenant's partitions, a request at a time."""

from dataclasses import replace
from typing import Any

import pytest

from bifrost.session.topics.counted_topics import NAMES_AT_ONCE, CountedTopics
from bifrost.session.topics.own_topics import LARGEST_PAGE
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import response_frame
from support.stage.stage import TENANTS, Stage
from support.stage.stage import Tenant as StageTenant

PREFIX = prefix_of("initech")


def counting(
    tenant: str = "initech", *, version: int = 12, has_pages: bool = True, **limits: int
) -> CountedTopics:
    limits = {"max_topics": 1_000, "max_partitions": 10_000} | limits
    stage = Stage({**TENANTS, tenant: replace(TENANTS[tenant], **limits)})
    namespace = stage.namespaces[tenant]
    assert namespace.bounds is not None
    return CountedTopics(namespace, namespace.bounds, has_pages=has_pages, metadata_version=version)


def topics_of(topics: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {"name": name, "topic_id": messages.topic_id(name), "partitions": [{}] * count}
        for name, count in topics.items()
    ]


def page(topics: dict[str, int], cursor: tuple[str, int] | None = None) -> Any:
    following = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    return messages.DescribeTopicPartitionsResponse(topics=topics_of(topics), next_cursor=following)


def receive(counted: CountedTopics, response: Any, version: int = 0) -> bool:
    frame = response_frame(response, version, 1)
    return counted.receive(response.SCHEMA.api_key, version, frame)


def asked(counted: CountedTopics) -> tuple[str, int, int]:
    request, _ = counted.request()
    assert not request.topics
    return request.cursor.topic_name, request.cursor.partition_index, request.response_partition_limit


def test_pages_begin_at_the_prefix_and_end_with_it() -> None:
    counted = counting()

    assert asked(counted) == (PREFIX, 0, LARGEST_PAGE)
    assert not receive(counted, page({PREFIX + "a": 3}, (PREFIX + "b", 0)))
    assert asked(counted) == (PREFIX + "b", 0, LARGEST_PAGE)
    assert receive(counted, page({PREFIX + "b": 2, "other": 9}, ("other", 9)))

    assert counted.partitions == {PREFIX.encode() + b"a": 3, PREFIX.encode() + b"b": 2}


def test_a_topic_that_a_page_ends_within_is_gone_on_with() -> None:
    counted = counting()

    assert not receive(counted, page({PREFIX + "a": 700}, (PREFIX + "a", 700)))
    assert asked(counted) == (PREFIX + "a", 700, LARGEST_PAGE)
    assert receive(counted, page({PREFIX + "a": 41}))

    assert counted.partitions == {PREFIX.encode() + b"a": 741}


def test_it_tells_the_ids_of_own_topics() -> None:
    counted = counting()

    receive(counted, page({PREFIX + "a": 1, "other": 1}))

    assert counted.topic_ids == [(messages.topic_id(PREFIX + "a"), PREFIX.encode() + b"a")]


@pytest.mark.parametrize("limits", [{"max_topics": 1}, {"max_partitions": 3}])
def test_it_ends_where_there_is_no_room(limits: dict[str, int]) -> None:
    counted = counting(**limits)

    assert receive(counted, page({PREFIX + "a": 2, PREFIX + "b": 2}, (PREFIX + "c", 0)))


@pytest.mark.parametrize("version", range(14))
def test_a_broker_without_pages_is_asked_for_all_and_foreign_ones_are_skipped(version: int) -> None:
    counted = counting(version=version, has_pages=False)
    request, used = counted.request()

    assert (request.topics, used) == (None, version)
    answer = messages.MetadataResponse(topics=topics_of({PREFIX + "a": 2, "other": 9}))
    assert receive(counted, answer, version)
    assert counted.partitions == {PREFIX.encode() + b"a": 2}


def test_an_empty_first_page_may_be_a_failure() -> None:
    counted = counting()

    assert not receive(counted, page({}))

    assert counted.request()[0].SCHEMA.name == "MetadataRequest"
    assert receive(counted, messages.MetadataResponse(topics=topics_of({PREFIX + "a": 2})), 12)
    assert counted.partitions == {PREFIX.encode() + b"a": 2}


@pytest.mark.parametrize("has_pages", [True, False])
def test_topics_that_were_moved_in_are_asked_for_by_name_after_all_others(has_pages: bool) -> None:
    stage = Stage({name: replace(TENANTS[name], max_topics=100, max_partitions=100) for name in TENANTS})
    for home, owner in (("globex/orders", "initech/o"), ("initech/away", "globex/a")):
        key = StateKey(KIND, home)
        stage.aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, {"owner": owner, "shares": {}}))
    namespace, there = stage.namespaces["initech"], physical_name("globex", "orders")
    assert namespace.bounds is not None
    counted = CountedTopics(namespace, namespace.bounds, has_pages=has_pages, metadata_version=12)

    own = {PREFIX + "a": 2, PREFIX + "away": 7}
    first = page(own) if has_pages else messages.MetadataResponse(topics=topics_of(own))
    assert not receive(counted, first, 0 if has_pages else 12)
    request, version = counted.request()
    assert ([one.name for one in request.topics], version) == ([there], 12)
    assert not request.allow_auto_topic_creation
    assert receive(counted, messages.MetadataResponse(topics=topics_of({there: 5})), 12)

    assert counted.partitions == {PREFIX.encode() + b"a": 2, there.encode(): 5}


def test_an_allow_list_is_asked_for_by_name_some_at_once() -> None:
    names = tuple(f"topic-{number:04}" for number in range(NAMES_AT_ONCE + 1))
    namespace = Stage({"acme": StageTenant(names, max_topics=100)}).namespaces["acme"]
    assert namespace.bounds is not None
    counted = CountedTopics(namespace, namespace.bounds, has_pages=True, metadata_version=12)

    request, _ = counted.request()
    assert [one.name for one in request.topics] == [
        physical_name("acme", name) for name in names[:NAMES_AT_ONCE]
    ]
    assert not request.allow_auto_topic_creation
    there = topics_of({physical_name("acme", "topic-0000"): 3})
    absent = {"name": physical_name("acme", "topic-0001"), "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert not receive(counted, messages.MetadataResponse(topics=[*there, absent]), 12)
    assert [one.name for one in counted.request()[0].topics] == [physical_name("acme", names[-1])]
    assert receive(counted, messages.MetadataResponse(topics=[]), 12)

    assert counted.partitions == {physical_name("acme", "topic-0000").encode(): 3}

from typing import Any

import pytest

from bifrost.routes import keyed_parts
from bifrost.routes.keyed_parts import (
    GROUP,
    TRANSACTION,
    coordinator_type,
    has_list,
    keys_of,
    merged_lists,
    names_with,
    single_key,
    with_names,
    without,
)
from bifrost.routes.route_kinds import ROUTE_KINDS, RouteKind
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.fields.entities import served_versions
from bifrost.wire.message import message_class
from bifrost.wire.messages import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema

SINGLE = [
    (key, version)
    for key, kind in ROUTE_KINDS.items()
    if kind in (RouteKind.GROUP, RouteKind.TRANSACTION, RouteKind.GROUPS)
    for version in served_versions(key) or ()
    if not has_list(key, version)
]


@pytest.mark.parametrize(("key", "version"), SINGLE)
def test_the_group_or_transactional_id_of_a_request_is_found(key: ApiKey, version: int) -> None:
    schema = request_schema(key)
    request: Any = message_class(schema.name)()
    kind = ROUTE_KINDS[key]
    wanted = "transactionalId" if kind is RouteKind.TRANSACTION else "groupId"
    field = next(one for one in schema.fields if one.entity_type == wanted and version in one.versions)
    for name in ("orders-é", "", "x" * 300):
        setattr(request, field.name, name)
        frame = encode(compile_layout(schema.name, version), request, b"head")

        found = single_key(key, frame, 8, is_flexible=schema.is_flexible(version))

        assert found == name


def test_a_null_id_and_a_spoilt_one() -> None:
    assert single_key(ApiKey.INIT_PRODUCER_ID, b"\xff\xff", 0, is_flexible=False) is None
    assert single_key(ApiKey.INIT_PRODUCER_ID, b"\x00", 0, is_flexible=True) is None
    for frame, is_flexible in ((b"\x00\x05ab", False), (b"\x05ab", True), (b"", True), (b"\x80" * 9, True)):
        with pytest.raises(MalformedFrame):
            single_key(ApiKey.HEARTBEAT, frame, 0, is_flexible=is_flexible)
    with pytest.raises(MalformedFrame):
        single_key(ApiKey.HEARTBEAT, b"\x00\x01\xff", 0, is_flexible=False)


def test_every_route_to_several_coordinators_has_its_list() -> None:
    kinds = (RouteKind.GROUPS, RouteKind.TRANSACTIONS)

    assert {key for key, kind in ROUTE_KINDS.items() if kind in kinds} == set(keyed_parts._LISTS)
    assert coordinator_type(RouteKind.TRANSACTIONS) == coordinator_type(RouteKind.TRANSACTION) == TRANSACTION
    assert coordinator_type(RouteKind.GROUPS) == coordinator_type(RouteKind.GROUP) == GROUP


def test_a_list_is_divided_among_the_coordinators() -> None:
    request = DescribeGroupsRequest(groups=["a", "b", "c", "a"])

    assert keys_of(ApiKey.DESCRIBE_GROUPS, request) == ["a", "b", "c", "a"]
    assert with_names(ApiKey.DESCRIBE_GROUPS, request, {"a", "c"}).groups == ["a", "c", "a"]


def test_items_that_are_structs_are_divided_by_their_names() -> None:
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    request = OffsetFetchRequest(groups=[group(group_id="a"), group(group_id="b")])

    part = with_names(ApiKey.OFFSET_FETCH, request, {"b"})

    assert [one.group_id for one in part.groups] == ["b"]
    assert [has_list(ApiKey.OFFSET_FETCH, version) for version in (7, 8)] == [False, True]


def test_what_has_one_of_some_errors_is_taken_out_of_an_answer() -> None:
    group = OffsetFetchResponse.OffsetFetchResponseGroup
    answer = OffsetFetchResponse(
        groups=[group(group_id="a"), group(group_id="b", error_code=16), group(group_id="c", error_code=69)]
    )

    names = names_with(ApiKey.OFFSET_FETCH, 8, answer, {15, 16})

    assert names == ["b"]
    assert names_with(ApiKey.OFFSET_FETCH, 7, answer, {15, 16}) == []
    left = without(ApiKey.OFFSET_FETCH, answer, set(names)).groups
    assert [(one.group_id, one.error_code) for one in left] == [("a", 0), ("c", 69)]


def test_each_list_has_errors_by_item() -> None:
    for key, lists in keyed_parts._LISTS.items():
        schema = response_schema(key)
        (items,) = [one for one in schema.fields if one.name == lists.answered]
        assert {"error_code", lists.name} <= {one.name for one in items.fields}


def test_answers_are_put_together_in_the_order_of_the_request() -> None:
    group = DescribeGroupsResponse.DescribedGroup
    answers = [
        DescribeGroupsResponse(throttle_time_ms=3, groups=[group(group_id="c"), group(group_id="a")]),
        DescribeGroupsResponse(throttle_time_ms=9, groups=[group(group_id="b")]),
    ]

    merged: Any = merged_lists(ApiKey.DESCRIBE_GROUPS, ["a", "b", "c"], answers)

    assert [one.group_id for one in merged.groups] == ["a", "b", "c"]
    assert merged.throttle_time_ms == 9


def test_transactions_likewise() -> None:
    state = DescribeTransactionsResponse.TransactionState
    answers = [
        DescribeTransactionsResponse(transaction_states=[state(transactional_id=name)]) for name in "ba"
    ]

    merged: Any = merged_lists(ApiKey.DESCRIBE_TRANSACTIONS, ["a", "b"], answers)

    assert keys_of(ApiKey.DESCRIBE_TRANSACTIONS, DescribeTransactionsRequest(transactional_ids=["a"])) == [
        "a"
    ]
    assert [one.transactional_id for one in merged.transaction_states] == ["a", "b"]

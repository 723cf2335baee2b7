import time
from dataclasses import replace

import pytest

from bifrost.filters.acls import acl_administration
from bifrost.filters.acls.acl_administration import (
    MAX_CHANGED,
    MAX_TOLD,
    CreateAclsFilter,
    DeleteAclsFilter,
    DescribeAclsFilter,
)
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import Answer, StateChange
from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_outcome import DONE, OFF, OutcomeKind, StateOutcome
from bifrost.state.state_record import StateRecord, encode
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.tenancy.acls.stored_acls import body_of, key_of
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.guards import HOST, allow, authority_of, exchange_of
from support.stage.stage import Stage

ORDERS = allow("READ", "orders")
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ADMIN = allow("ALL", "kafka-cluster", ResourceType.CLUSTER)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def exchange(stage: Stage, api_key: ApiKey, *rights: object, max_stored: int = 10) -> Exchange:
    authority = authority_of(*rights, max_stored=max_stored)
    stage.authority = authority  # guards keep it only weakly
    guard = authority.guard(stage.namespaces["initech"], "alice", HOST)
    return exchange_of(guard, api_key, 3)


def creation(*names: str, **fields: object) -> messages.Message:
    values = {
        "resource_type": 2,
        "resource_pattern_type": 3,
        "principal": "User:bob",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return messages.CreateAclsRequest(creations=[values | {"resource_name": name} | fields for name in names])


EVERY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def test_without_the_right_nothing_is_told_or_changed(stage: Stage) -> None:
    for api_key, one, request in (
        (ApiKey.DESCRIBE_ACLS, DescribeAclsFilter(), messages.DescribeAclsRequest(**EVERY)),
        (ApiKey.CREATE_ACLS, CreateAclsFilter(), creation("orders")),
        (ApiKey.DELETE_ACLS, DeleteAclsFilter(), messages.DeleteAclsRequest(filters=[EVERY])),
    ):
        step = one.on_request(exchange(stage, api_key), request)

        assert isinstance(step, Answer)
        response = step.response
        items = getattr(response, "results", getattr(response, "filter_results", [response]))
        assert [each.error_code for each in items] == [DENIED]


def test_acls_are_described_by_resource(stage: Stage) -> None:
    step = DescribeAclsFilter().on_request(
        exchange(stage, ApiKey.DESCRIBE_ACLS, ADMIN, ORDERS, allow("WRITE", "orders")),
        messages.DescribeAclsRequest(**(EVERY | {"resource_type_filter": 2})),
    )

    assert isinstance(step, Answer)
    (resource,) = step.response.resources
    assert (resource.resource_name, sorted(one.operation for one in resource.acls)) == ("orders", [3, 4])


def test_a_filter_with_an_unknown_number_is_refused(stage: Stage) -> None:
    step = DescribeAclsFilter().on_request(
        exchange(stage, ApiKey.DESCRIBE_ACLS, ADMIN),
        messages.DescribeAclsRequest(**(EVERY | {"operation": 99})),
    )

    assert isinstance(step, Answer)
    assert step.response.error_code == ErrorCode.INVALID_REQUEST


def test_an_acl_is_written_before_the_request_is_answered(stage: Stage) -> None:
    asked = exchange(stage, ApiKey.CREATE_ACLS, ADMIN)
    request = creation("orders", "orders", "", "new")

    need = CreateAclsFilter().on_request(asked, request)

    assert isinstance(need, StateChange)
    assert [one.body["name"] for one in need.changes if one.body] == ["orders", "new"]
    assert need.on_behalf_of == "User:alice"
    asked.met = {StateChange: replace(need, outcome=DONE)}
    step = CreateAclsFilter().on_request(asked, request)
    assert isinstance(step, Answer)
    assert [one.error_code for one in step.response.results] == [0, 0, ErrorCode.INVALID_REQUEST, 0]


def test_what_could_not_be_written_is_an_error_for_what_it_would_have_changed(stage: Stage) -> None:
    asked = exchange(stage, ApiKey.CREATE_ACLS, ADMIN, ORDERS._replace(principal="User:bob"))
    request = creation("orders", "new")
    need = CreateAclsFilter().on_request(asked, request)
    assert isinstance(need, StateChange)

    outcome = StateOutcome(OutcomeKind.UNAVAILABLE)
    asked.met = {StateChange: replace(need, outcome=outcome)}
    step = CreateAclsFilter().on_request(asked, request)

    assert isinstance(step, Answer)
    assert [one.error_code for one in step.response.results] == [0, outcome.error_code]


def test_after_a_conflict_the_request_is_judged_again(stage: Stage) -> None:
    asked, request = exchange(stage, ApiKey.CREATE_ACLS, ADMIN), creation("orders")
    need = CreateAclsFilter().on_request(asked, request)
    assert isinstance(need, StateChange)

    asked.met = {StateChange: replace(need, outcome=StateOutcome(OutcomeKind.CONFLICT))}
    again = CreateAclsFilter().on_request(asked, request)

    assert isinstance(again, StateChange)
    assert again.attempt == 2


def test_without_a_state_nothing_can_be_created(stage: Stage) -> None:
    asked = exchange(stage, ApiKey.CREATE_ACLS, ADMIN)
    asked.scope = replace(asked.scope, state=None)

    step = CreateAclsFilter().on_request(asked, creation("orders"))

    assert isinstance(step, Answer)
    assert step.response.results[0].error_code == OFF.error_code


def test_acls_beyond_the_bounds_are_refused(stage: Stage) -> None:
    few = exchange(stage, ApiKey.CREATE_ACLS, ADMIN, max_stored=1)
    need = CreateAclsFilter().on_request(few, creation("a", "b"))
    many = exchange(stage, ApiKey.CREATE_ACLS, ADMIN, max_stored=10_000)
    large = CreateAclsFilter().on_request(
        many, creation(*(f"t{number}" for number in range(MAX_CHANGED + 1)))
    )

    assert isinstance(need, StateChange)
    assert isinstance(large, StateChange)
    assert [one.error_code for one in need.plan.answer.results] == [0, ErrorCode.POLICY_VIOLATION]
    assert large.plan.answer.results[-1].error_code == ErrorCode.POLICY_VIOLATION
    assert len(large.changes) == MAX_CHANGED


def test_acls_of_the_state_are_deleted_and_those_of_the_configuration_are_not(stage: Stage) -> None:
    asked = exchange(stage, ApiKey.DELETE_ACLS, ADMIN, ORDERS)
    stored, table = allow("WRITE", "orders"), asked.scope.state
    assert table is not None
    assert asked.scope.guard is not None
    asked.scope.guard.authority.take(None, stored)
    key = key_of("initech", stored)
    record = StateRecord(key, 5, 0, "1", "test", None, body_of(stored))
    table.apply([LogRecord(0, 0, key.to_bytes(), encode(record))])
    wanted = EVERY | {"resource_name_filter": "orders"}

    need = DeleteAclsFilter().on_request(asked, messages.DeleteAclsRequest(filters=[wanted, wanted]))

    assert isinstance(need, StateChange)
    assert [(one.key, one.expected, one.body) for one in need.changes] == [(key, 5, None)]
    first, second = need.plan.answer.filter_results
    codes = {one.operation: one.error_code for one in first.matching_acls}
    assert codes == {3: ErrorCode.POLICY_VIOLATION, 4: 0}
    assert len(second.matching_acls) == 2


def test_a_request_to_delete_is_work_for_its_bytes_and_not_for_all_acls_each_time(stage: Stage) -> None:
    """100,000 filters that leave all open, at 10,000 ACLs, would be a thousand million comparisons and matches."""
    acls = [allow("READ", f"topic-{number}") for number in range(900)]
    asked = exchange(stage, ApiKey.DELETE_ACLS, ADMIN, *acls)
    began = time.process_time()

    step = DeleteAclsFilter().on_request(asked, messages.DeleteAclsRequest(filters=[EVERY] * 5_000))

    assert time.process_time() - began < 2
    assert isinstance(step, Answer)
    results = step.response.filter_results
    assert [one.error_code for one in results[:11]] == [0] * 11
    assert {one.error_code for one in results[11:]} == {ErrorCode.POLICY_VIOLATION}
    assert sum(len(one.matching_acls) for one in results) <= MAX_TOLD


def test_filters_that_leave_nothing_open_are_not_compared_with_all(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_administration, "MAX_COMPARED", 40)
    acls = [allow("READ", f"topic-{number}") for number in range(30)]
    asked = exchange(stage, ApiKey.DELETE_ACLS, ADMIN, *acls)
    exact = [
        {
            "resource_type_filter": 2,
            "resource_name_filter": one.name,
            "pattern_type_filter": int(one.pattern_type),
            "principal_filter": one.principal,
            "host_filter": one.host,
            "operation": int(one.operation),
            "permission_type": int(one.permission),
        }
        for one in acls
    ]

    step = DeleteAclsFilter().on_request(asked, messages.DeleteAclsRequest(filters=[*exact, EVERY]))

    assert isinstance(step, Answer)
    *found, last = step.response.filter_results
    assert [len(one.matching_acls) for one in found] == [1] * 30
    assert last.error_code == ErrorCode.POLICY_VIOLATION

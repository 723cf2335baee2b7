from typing import Any

import pytest

from bifrost.filters.acls.acl_administration import CreateAclsFilter, DeleteAclsFilter, DescribeAclsFilter
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import AclsAtBroker, Answer
from bifrost.tenancy.acls.acl_binding import AclBinding
from bifrost.tenancy.acls.acl_change import MAX_CHANGED
from bifrost.tenancy.acls.broker_authority import BrokerAuthority
from bifrost.tenancy.acls.stored_acls import StoredAcls
from bifrost.tenancy.acls.translated_acls import TranslatedAcls
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeAclsRequest
from bifrost.wire.steps import set_pause
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.guards import HOST, exchange_of
from support.stage.stage import Stage

DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ORDERS = physical_name("initech", "orders")
EVERY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


class Scene:
    """A user of initech, who has an account at the brokers like bob; their ACLs there were counted: none."""

    def __init__(self, user: str = "alice") -> None:
        self.stage = Stage()
        self.authority = BrokerAuthority("initech", StoredAcls())
        self.authority.take_accounts({"alice": "i-alice", "bob": "i-bob"})
        self.authority.max_stored = 10_000
        self.authority.count(0, 0)
        self.guard = self.authority.guard(self.stage.namespaces["initech"], user, HOST)

    def exchange(self, api_key: ApiKey, need: AclsAtBroker | None = None, *answers: Any) -> Exchange:
        made = exchange_of(self.guard, api_key, 3)
        if need is not None:
            made.met = {AclsAtBroker: AclsAtBroker(need.requests, need.plan, answers)}
        return made


def acl(account: str, operation: int = 3) -> dict[str, Any]:
    return {"principal": f"User:{account}", "host": "*", "operation": operation, "permission_type": 3}


def creation(name: str, **fields: Any) -> dict[str, Any]:
    resource = {"resource_type": 2, "resource_pattern_type": 3, "resource_name": name}
    return resource | acl("bob") | fields


@pytest.mark.parametrize(
    ("api_key", "one", "request_"),
    [
        (ApiKey.DESCRIBE_ACLS, DescribeAclsFilter(), messages.DescribeAclsRequest(**EVERY)),
        (ApiKey.CREATE_ACLS, CreateAclsFilter(), messages.CreateAclsRequest(creations=[creation("orders")])),
        (ApiKey.DELETE_ACLS, DeleteAclsFilter(), messages.DeleteAclsRequest(filters=[EVERY])),
    ],
)
def test_a_user_without_an_account_is_refused_and_no_broker_asked(
    api_key: ApiKey, one: Any, request_: Any
) -> None:
    scene = Scene("stranger")

    step = one.on_request(scene.exchange(api_key), request_)

    assert isinstance(step, Answer)
    codes = [getattr(step.response, "error_code", None)]
    codes += [each.error_code for each in getattr(step.response, "results", [])]
    codes += [each.error_code for each in getattr(step.response, "filter_results", [])]
    assert DENIED in codes


def test_acls_are_listed_by_the_tenant_s_names_and_no_others() -> None:
    scene, one = Scene(), DescribeAclsFilter()
    request = messages.DescribeAclsRequest(**EVERY | {"operation": 3})

    need = one.on_request(scene.exchange(ApiKey.DESCRIBE_ACLS), request)
    assert isinstance(need, AclsAtBroker)
    assert [each.principal_filter for each in need.requests] == ["User:i-alice", "User:i-bob"]
    assert {each.operation for each in need.requests} == {3}
    there = [
        {
            "resource_type": 2,
            "resource_name": ORDERS,
            "pattern_type": 3,
            "acls": [acl("i-bob"), acl("other")],
        },
        {"resource_type": 2, "resource_name": "foreign", "pattern_type": 3, "acls": [acl("i-bob")]},
        {"resource_type": 4, "resource_name": "kafka-cluster", "pattern_type": 3, "acls": [acl("i-bob")]},
        {"resource_type": 7, "resource_name": "x", "pattern_type": 3, "acls": [acl("i-bob")]},
        {
            "resource_type": 3,
            "resource_name": prefix_of("initech"),
            "pattern_type": 4,
            "acls": [acl("i-bob")],
        },
    ]
    answers = (messages.DescribeAclsResponse(), messages.DescribeAclsResponse(resources=there))
    step = one.on_request(scene.exchange(ApiKey.DESCRIBE_ACLS, need, *answers), request)

    assert isinstance(step, Answer)
    found: Any = step.response
    assert [(each.resource_name, each.pattern_type) for each in found.resources] == [("orders", 3), ("*", 3)]
    assert [one.principal for each in found.resources for one in each.acls] == ["User:bob"] * 2


def test_a_listing_of_very_many_acls_pauses_after_few(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, one, steps = Scene(), DescribeAclsFilter(), [0]
    request = messages.DescribeAclsRequest(**EVERY)
    need = one.on_request(scene.exchange(ApiKey.DESCRIBE_ACLS), request)
    assert isinstance(need, AclsAtBroker)
    acls = [acl("i-bob") | {"host": f"192.0.2.{number}"} for number in range(1000)]
    there = [{"resource_type": 2, "resource_name": ORDERS, "pattern_type": 3, "acls": acls}]
    virtual = TranslatedAcls.virtual

    def translate(translated: TranslatedAcls, binding: AclBinding) -> AclBinding | None:
        steps[-1] += 1
        return virtual(translated, binding)

    monkeypatch.setattr(TranslatedAcls, "virtual", translate)
    set_pause(lambda: steps.append(0))
    try:
        answers = (messages.DescribeAclsResponse(), messages.DescribeAclsResponse(resources=there))
        step = one.on_request(scene.exchange(ApiKey.DESCRIBE_ACLS, need, *answers), request)
    finally:
        set_pause(None)

    assert isinstance(step, Answer)
    assert sum(len(each.acls) for each in step.response.resources) == 1000  # type: ignore[attr-defined]
    assert sum(steps) == 1000
    assert max(steps) <= 20


def test_what_the_broker_refuses_is_told_without_its_text() -> None:
    scene, one = Scene(), DescribeAclsFilter()
    request = messages.DescribeAclsRequest(**EVERY)
    need: Any = one.on_request(scene.exchange(ApiKey.DESCRIBE_ACLS), request)
    refusal = messages.DescribeAclsResponse(error_code=DENIED, error_message=f"{ORDERS} of i-alice")

    step: Any = one.on_request(scene.exchange(ApiKey.DESCRIBE_ACLS, need, refusal, refusal), request)

    assert (step.response.error_code, step.response.resources) == (DENIED, [])
    assert step.response.error_message == "The broker answers CLUSTER_AUTHORIZATION_FAILED"


def test_only_acls_of_the_tenant_s_are_created_and_each_result_has_its_place() -> None:
    scene, one = Scene(), CreateAclsFilter()
    cluster = creation("kafka-cluster", resource_type=4)
    items = [
        cluster,
        creation("orders"),
        creation("", host="*"),
        creation("*"),
        creation("x", host="10.0.0.1"),
    ]
    request = messages.CreateAclsRequest(creations=items)

    need: Any = one.on_request(scene.exchange(ApiKey.CREATE_ACLS), request)
    assert isinstance(need, AclsAtBroker)
    (asked,) = need.requests
    sent: Any = asked.creations
    assert [(each.resource_name, each.resource_pattern_type, each.principal) for each in sent] == [
        (ORDERS, 3, "User:i-bob"),
        (prefix_of("initech"), 4, "User:i-bob"),
    ]
    answer = messages.CreateAclsResponse(results=[{}, {"error_code": DENIED, "error_message": ORDERS}])
    step: Any = one.on_request(scene.exchange(ApiKey.CREATE_ACLS, need, answer), request)

    invalid = ErrorCode.INVALID_REQUEST
    assert [each.error_code for each in step.response.results] == [invalid, 0, invalid, DENIED, invalid]
    assert ORDERS not in repr(step.response)
    nothing = messages.CreateAclsRequest(creations=[cluster])
    assert isinstance(one.on_request(scene.exchange(ApiKey.CREATE_ACLS), nothing), Answer)


def test_acls_are_deleted_account_by_account_and_told_by_the_tenant_s_names() -> None:
    scene, one = Scene(), DeleteAclsFilter()
    of_orders = EVERY | {
        "resource_type_filter": 2,
        "resource_name_filter": "orders",
        "pattern_type_filter": 3,
    }
    request = messages.DeleteAclsRequest(filters=[EVERY, of_orders])

    need: Any = one.on_request(scene.exchange(ApiKey.DELETE_ACLS), request)
    assert isinstance(need, AclsAtBroker)
    (asked,) = need.requests
    sent: Any = asked.filters
    assert [(each.resource_name_filter, each.principal_filter) for each in sent] == [
        (ORDERS, "User:i-alice"),
        (ORDERS, "User:i-bob"),
    ]
    gone = {"resource_type": 2, "resource_name": ORDERS, "pattern_type": 3, **acl("i-bob")}
    answer = messages.DeleteAclsResponse(filter_results=[{}, {"matching_acls": [gone]}])
    step: Any = one.on_request(scene.exchange(ApiKey.DELETE_ACLS, need, answer), request)

    refused, done = step.response.filter_results
    assert (refused.error_code, refused.matching_acls) == (ErrorCode.INVALID_REQUEST, [])
    assert [(each.resource_name, each.principal) for each in done.matching_acls] == [("orders", "User:bob")]


def test_a_broker_is_asked_for_so_many_acls_of_a_request_and_no_more() -> None:
    scene = Scene()
    many = [creation(f"t{number}") for number in range(MAX_CHANGED + 1)]
    filters = [
        EVERY | {"resource_type_filter": 2, "pattern_type_filter": 3, "resource_name_filter": f"t{number}"}
        for number in range(MAX_CHANGED)
    ]

    made = CreateAclsFilter().on_request(
        scene.exchange(ApiKey.CREATE_ACLS), messages.CreateAclsRequest(creations=many)
    )
    deleted = DeleteAclsFilter().on_request(
        scene.exchange(ApiKey.DELETE_ACLS), messages.DeleteAclsRequest(filters=filters)
    )

    assert isinstance(made, AclsAtBroker)
    assert isinstance(deleted, AclsAtBroker)
    assert len(made.requests[0].creations) == MAX_CHANGED
    assert made.plan.answer.results[-1].error_code == ErrorCode.POLICY_VIOLATION
    assert len(deleted.requests[0].filters) == MAX_CHANGED
    assert deleted.plan.answer.filter_results[-1].error_code == ErrorCode.POLICY_VIOLATION


def kept(*names: str) -> Any:
    """Return what a broker tells of ACLs of bob."""
    return messages.DescribeAclsResponse(
        resources=[
            {
                "resource_type": 2,
                "resource_name": physical_name("initech", name),
                "pattern_type": 3,
                "acls": [acl("i-bob")],
            }
            for name in names
        ]
    )


def create(scene: Scene, *names: str, need: AclsAtBroker | None = None, answers: Any = ()) -> Any:
    request = messages.CreateAclsRequest(creations=[creation(name) for name in names])
    return CreateAclsFilter().on_request(scene.exchange(ApiKey.CREATE_ACLS, need, *answers), request)


def test_the_brokers_keep_no_more_acls_of_a_tenant_than_it_may_have() -> None:
    scene = Scene()
    scene.authority.max_stored, scene.authority.kept = 3, None

    need = create(scene, "a", "b", "c")
    assert [one.principal_filter for one in need.requests] == ["User:i-alice", "User:i-bob"], (
        "they are counted"
    )
    need = create(scene, "a", "b", "c", need=need, answers=(messages.DescribeAclsResponse(), kept("a", "x")))

    assert [one.resource_name for one in need.requests[0].creations] == [
        physical_name("initech", name) for name in ("a", "b")
    ], "one is there already"
    step = create(scene, "a", "b", "c", need=need, answers=(messages.CreateAclsResponse(results=[{}, {}]),))
    assert [one.error_code for one in step.response.results] == [0, 0, ErrorCode.POLICY_VIOLATION]
    assert step.response.results[2].error_message == "A tenant may have at most 3 ACLs."


def test_acls_are_counted_again_when_there_is_no_room_and_after_many_creations() -> None:
    scene = Scene()
    scene.authority.max_stored = 2
    assert create(scene, "a", "b").requests[0].creations

    need = create(scene, "c")
    assert isinstance(need.requests[0], DescribeAclsRequest), "some may have been deleted"
    need = create(scene, "c", need=need, answers=(kept("a"), kept()))
    assert len(need.requests[0].creations) == 1

    scene.authority.max_stored = 10_000
    assert create(scene, *(f"t{number}" for number in range(MAX_CHANGED))).requests[0].creations
    assert isinstance(create(scene, "d").requests[0], DescribeAclsRequest)


def test_what_is_created_while_acls_are_counted_is_counted_too() -> None:
    scene = Scene()
    scene.authority.max_stored, scene.authority.kept = 2, None
    first, second = create(scene, "a", "b"), create(scene, "c", "d")

    made = create(scene, "a", "b", need=first, answers=(kept(), kept()))
    refused = create(scene, "c", "d", need=second, answers=(kept(), kept()))

    assert len(made.requests[0].creations) == 2
    assert {one.error_code for one in refused.response.results} == {ErrorCode.POLICY_VIOLATION}


def test_a_user_whom_the_broker_tells_no_acls_creates_none() -> None:
    scene = Scene()
    scene.authority.kept = None
    need = create(scene, "a")
    refusal = messages.DescribeAclsResponse(error_code=DENIED)

    step = create(scene, "a", need=need, answers=(refusal, refusal))

    assert [one.error_code for one in step.response.results] == [DENIED]

import pytest

from bifrost.filters.acls.cluster_access import ClusterListingAccessFilter, ConfigsAccessFilter, RightsFilter
from bifrost.filters.steps import FORWARD, Answer
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

CLUSTER, GROUP = ResourceType.CLUSTER, ResourceType.GROUP
EVERYTHING = 0xFFFF


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_directories_need_the_right_to_describe_the_cluster(stage: Stage, version: int) -> None:
    request = messages.DescribeLogDirsRequest(topics=None)
    denied = exchange_of(guard_of(stage), ApiKey.DESCRIBE_LOG_DIRS, version)
    right = allow("DESCRIBE", "kafka-cluster", CLUSTER)
    permitted = exchange_of(guard_of(stage, right), ApiKey.DESCRIBE_LOG_DIRS, version)

    step = ClusterListingAccessFilter().on_request(denied, request)

    assert isinstance(step, Answer)
    assert step.response.results == []
    assert version < 3 or step.response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert ClusterListingAccessFilter().on_request(permitted, request) is FORWARD


def test_lists_leave_out_what_is_in_a_namespace_that_is_closed_to_the_client(stage: Stage) -> None:
    stage.existing.configure({"initech": [("eu",)]})
    closed = allow("ALL", "eu:", principal="User:bob")
    rights = [allow(one, "kafka-cluster", CLUSTER) for one in ("DESCRIBE", "DESCRIBE_CONFIGS")]
    guard, names = guard_of(stage, closed, *rights), ("orders", "eu:clicks")

    directories = exchange_of(guard, ApiKey.DESCRIBE_LOG_DIRS, 4)
    request = messages.DescribeLogDirsRequest(topics=None)
    assert ClusterListingAccessFilter().on_request(directories, request) is FORWARD
    sizes = messages.DescribeLogDirsResponse(results=[{"topics": [{"name": one} for one in names]}])
    ClusterListingAccessFilter().on_response(directories, sizes)

    resources = exchange_of(guard, ApiKey.LIST_CONFIG_RESOURCES, 1)
    listed = messages.ListConfigResourcesResponse(
        config_resources=[{"resource_name": one, "resource_type": 2} for one in names]
    )
    ClusterListingAccessFilter().on_response(resources, listed)

    assert directories.wants_response
    assert [one.name for one in sizes.results[0].topics] == ["orders"]
    assert [one.resource_name for one in listed.config_resources] == ["orders"]


def test_configs_need_a_right_by_the_kind_of_resource(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("DESCRIBE_CONFIGS", "orders")), ApiKey.DESCRIBE_CONFIGS, 4)
    resources = [(2, "orders"), (2, "secret"), (4, "1"), (32, "readers")]
    request = messages.DescribeConfigsRequest(
        resources=[{"resource_type": kind, "resource_name": name} for kind, name in resources]
    )

    step = ConfigsAccessFilter().on_request(exchange, request)
    response = messages.DescribeConfigsResponse(results=[{"resource_type": 2, "resource_name": "orders"}])
    ConfigsAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert [one.resource_name for one in request.resources] == ["orders"]
    assert {one.resource_name: one.error_code for one in response.results} == {
        "orders": 0,
        "secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        "1": ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        "readers": ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }


def test_when_all_configs_are_denied_the_answer_has_each(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage), ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)
    resources = [{"resource_type": kind, "resource_name": "x"} for kind in (2, 4, 32)]

    step = ConfigsAccessFilter().on_request(
        exchange, messages.IncrementalAlterConfigsRequest(resources=resources)
    )

    assert isinstance(step, Answer)
    assert sorted(one.resource_type for one in step.response.responses) == [2, 4, 32]


def test_a_client_is_told_the_operations_that_acls_permit(stage: Stage) -> None:
    guard = guard_of(
        stage,
        allow("READ", "orders"),
        allow("READ", "readers", GROUP),
        allow("ALTER", "kafka-cluster", CLUSTER),
    )
    exchange = exchange_of(guard, ApiKey.METADATA, 9)
    told = messages.MetadataResponse(
        topics=[{"name": "orders", "topic_authorized_operations": EVERYTHING}],
        cluster_authorized_operations=Operation.DESCRIBE.bit,
    )
    groups = messages.DescribeGroupsResponse(
        groups=[{"group_id": "readers", "authorized_operations": EVERYTHING}]
    )

    RightsFilter().on_response(exchange, told)
    RightsFilter().on_response(exchange, groups)

    read = Operation.READ.bit | Operation.DESCRIBE.bit
    assert told.topics[0].topic_authorized_operations == read
    assert groups.groups[0].authorized_operations == read
    assert told.cluster_authorized_operations == Operation.ALTER.bit | Operation.DESCRIBE.bit


def test_what_a_client_did_not_ask_for_stays_untold(stage: Stage) -> None:
    exchange, response = exchange_of(guard_of(stage), ApiKey.METADATA, 9), messages.MetadataResponse()
    before = response.cluster_authorized_operations

    RightsFilter().on_response(exchange, response)

    assert response.cluster_authorized_operations == before

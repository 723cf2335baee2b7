import pytest

from bifrost.filters.authorized_operations import NOT_REQUESTED, AuthorizedOperationsFilter
from support.stage import messages
from support.stage.stage import Stage, Tenant

ALL = 0b1_1111_1111_1000
"""Every operation of Kafka's AclOperation, READ (3) to IDEMPOTENT_WRITE (12)."""
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = (1 << code for code in range(3, 9))
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = (1 << code for code in range(9, 13))


def of_topic(stage: Stage, granted: int) -> int:
    response = messages.MetadataResponse(topics=[{"name": "orders", "topic_authorized_operations": granted}])

    AuthorizedOperationsFilter().on_response(stage.exchange(8), response)

    return response.topics[0].topic_authorized_operations


def test_a_tenant_may_do_with_its_topics_all_but_delete_them(stage: Stage) -> None:
    granted = of_topic(stage, ALL)

    assert granted == READ | WRITE | CREATE | ALTER | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS


def test_it_may_delete_them_where_that_is_allowed() -> None:
    stage = Stage({"acme": Tenant(allow_topic_deletion=True)})

    assert of_topic(stage, ALL) & DELETE


def test_what_the_gateway_itself_may_not_do_the_tenant_may_not_either(stage: Stage) -> None:
    assert of_topic(stage, READ | DELETE) == READ
    assert of_topic(stage, 0) == 0


def test_what_no_client_asked_for_is_not_told(stage: Stage) -> None:
    assert of_topic(stage, NOT_REQUESTED) == NOT_REQUESTED


@pytest.mark.parametrize("name", ["MetadataResponse", "DescribeClusterResponse"])
@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        (ALL, DESCRIBE | DESCRIBE_CONFIGS | IDEMPOTENT_WRITE),
        (CLUSTER_ACTION | ALTER, 0),
        (NOT_REQUESTED, NOT_REQUESTED),
    ],
)
def test_a_tenant_has_no_rights_on_the_cluster(stage: Stage, name: str, granted: int, expected: int) -> None:
    response = messages.build(name, {"cluster_authorized_operations": granted})

    AuthorizedOperationsFilter().on_response(stage.exchange(8), response)

    assert response.cluster_authorized_operations == expected


def test_a_tenant_without_a_list_may_create_any_topic(stage: Stage) -> None:
    response = messages.DescribeClusterResponse(cluster_authorized_operations=ALL)

    AuthorizedOperationsFilter().on_response(stage.exchange(0, "initech"), response)

    assert response.cluster_authorized_operations & CREATE


@pytest.mark.parametrize(
    "name",
    [
        "DescribeGroupsResponse",
        "ConsumerGroupDescribeResponse",
        "ShareGroupDescribeResponse",
        "StreamsGroupDescribeResponse",
    ],
)
@pytest.mark.parametrize(
    ("granted", "expected"),
    [(ALL, READ | DELETE | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS), (NOT_REQUESTED, NOT_REQUESTED)],
)
def test_a_tenant_may_do_with_its_groups_what_groups_have(
    stage: Stage, name: str, granted: int, expected: int
) -> None:
    response = messages.build(name, {"groups": [{"authorized_operations": granted}]})

    AuthorizedOperationsFilter().on_response(stage.exchange(0), response)

    assert response.groups[0].authorized_operations == expected


def test_a_response_without_operations_of_the_cluster_is_no_problem(stage: Stage) -> None:
    response = messages.DescribeTopicPartitionsResponse(topics=[{"topic_authorized_operations": ALL}])

    AuthorizedOperationsFilter().on_response(stage.exchange(0), response)

    assert not response.topics[0].topic_authorized_operations & DELETE

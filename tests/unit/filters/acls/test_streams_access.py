import pytest

from bifrost.filters.acls.group_access import DescribeGroupsAccessFilter
from bifrost.filters.acls.streams_access import StreamsHeartbeatAccessFilter
from bifrost.filters.steps import FORWARD, Answer, TopicCount
from bifrost.tenancy.acls.acl_binding import PatternType, ResourceType
from bifrost.tenancy.names import PhysicalTopic
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage, Tenant

GROUP = ResourceType.GROUP
NO_TOPIC, NO_GROUP = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED
APP = allow("READ", "app", GROUP)
SEEN = allow("DESCRIBE", "app-", pattern_type=PatternType.PREFIXED)
ORDERS = allow("READ", "orders")


@pytest.fixture
def stage() -> Stage:
    return Stage({"initech": Tenant(max_topics=10, max_partitions=10)})


def heartbeat(source: str = "orders", *, changelog: str | None = None, sink: str | None = None, **fields):
    part = {
        "subtopology_id": "0",
        "source_topics": [source],
        "state_changelog_topics": [] if changelog is None else [{"name": changelog}],
        "repartition_sink_topics": [] if sink is None else [sink],
    }
    return messages.StreamsGroupHeartbeatRequest(group_id="app", topology={"subtopologies": [part | fields]})


def decided(stage: Stage, request, *acls):
    exchange = exchange_of(guard_of(stage, *acls), ApiKey.STREAMS_GROUP_HEARTBEAT, 0)
    return StreamsHeartbeatAccessFilter().on_request(exchange, request)


def code_of(step) -> int:
    assert isinstance(step, Answer)
    return step.response.error_code


def test_the_group_is_read(stage: Stage) -> None:
    without_topology = messages.StreamsGroupHeartbeatRequest(group_id="app", topology=None)

    assert code_of(decided(stage, without_topology, ORDERS)) == NO_GROUP
    assert decided(stage, without_topology, APP) is FORWARD


@pytest.mark.parametrize(
    "request_", [heartbeat("secret"), heartbeat(sink="secret"), heartbeat(changelog="secret")]
)
def test_every_topic_of_a_topology_may_be_described(stage: Stage, request_) -> None:
    assert decided(stage, heartbeat(), APP, ORDERS) is FORWARD
    assert code_of(decided(stage, request_, APP, ORDERS)) == NO_TOPIC


def test_a_pattern_needs_all_topics(stage: Stage) -> None:
    request = heartbeat(source_topic_regex=["o.*"])

    assert code_of(decided(stage, request, APP, ORDERS)) == NO_TOPIC
    assert decided(stage, request, APP, ORDERS, allow("DESCRIBE", "*")) is FORWARD


def test_the_broker_creates_no_internal_topic_that_the_client_may_not_create(stage: Stage) -> None:
    request = heartbeat(changelog="app-store-changelog")
    acls = APP, ORDERS, SEEN

    assert decided(stage, request, *acls) == TopicCount()
    bounds = stage.namespaces["initech"].bounds
    assert bounds is not None
    bounds.count({}, 1)
    missing = decided(stage, request, *acls)
    assert code_of(missing) == NO_TOPIC
    assert "CREATE on topics app-store-changelog" in missing.response.error_message
    assert decided(stage, request, *acls, allow("CREATE", "app-store-changelog")) is FORWARD
    of_cluster = allow("CREATE", "kafka-cluster", ResourceType.CLUSTER)
    assert decided(stage, request, *acls, of_cluster) is FORWARD


def test_an_internal_topic_that_is_there_need_not_be_created(stage: Stage) -> None:
    bounds = stage.namespaces["initech"].bounds
    assert bounds is not None
    bounds.count({PhysicalTopic(physical_name("initech", "app-store-changelog").encode()): 3}, 1)

    assert decided(stage, heartbeat(changelog="app-store-changelog"), APP, ORDERS, SEEN) is FORWARD


def test_a_topology_with_a_denied_topic_is_not_described(stage: Stage) -> None:
    guard = guard_of(stage, allow("DESCRIBE", "app", GROUP), ORDERS)
    exchange = exchange_of(guard, ApiKey.STREAMS_GROUP_DESCRIBE, 0)
    groups = [
        {
            "group_id": "app",
            "group_state": "Stable",
            "members": [{"member_id": "m"}],
            "topology": {"subtopologies": [{"source_topics": [name]}]},
        }
        for name in ("orders", "secret")
    ]
    response = messages.StreamsGroupDescribeResponse(groups=groups)

    DescribeGroupsAccessFilter("group_ids").on_response(exchange, response)

    shown, hidden = response.groups
    assert (shown.error_code, len(shown.members)) == (0, 1)
    assert (hidden.error_code, hidden.members, hidden.topology, hidden.group_state) == (
        NO_TOPIC,
        [],
        None,
        "",
    )

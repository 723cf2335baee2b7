from dataclasses import replace

import pytest

from bifrost.tenancy.topic_regex import confine
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.divided import divided
from support.stage.messages import build
from support.stage.playbook import broker_answers, client_sends, counted, counts, to_broker, to_client
from support.stage.stage import TENANTS, Stage

NO_GROUP = {"error_code": ErrorCode.INVALID_GROUP_ID}
NO_GROUP_ID = {"error_code": ErrorCode.INVALID_REQUEST, "error_message": "GroupId can't be empty."}


@pytest.mark.parametrize(
    ("api", "refusal"),
    [
        ("Heartbeat", NO_GROUP),
        ("SyncGroup", NO_GROUP),
        ("LeaveGroup", NO_GROUP),
        ("ConsumerGroupHeartbeat", NO_GROUP_ID),
        ("ShareGroupHeartbeat", NO_GROUP_ID),
        ("StreamsGroupHeartbeat", NO_GROUP_ID),
    ],
)
def test_no_member_is_in_a_group_without_a_name(stage: Stage, api: str, refusal: dict[str, object]) -> None:
    book = stage.play() >> client_sends(build(f"{api}Request", {"group_id": ""}))

    assert book << to_client(build(f"{api}Response", refusal))


@pytest.mark.parametrize("api", ["Heartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat"])
def test_a_group_with_a_name_is_the_tenants(stage: Stage, api: str) -> None:
    asked, physical = (
        build(f"{api}Request", {"group_id": name, "member_id": "m"})
        for name in ("g", physical_name("acme", "g"))
    )

    assert stage.play() >> client_sends(asked) << to_broker(physical)


def subscribe(group_id: str, regex: str | None, *topics: str):
    names = {"subscribed_topic_names": list(topics)} if topics else {}
    return messages.ConsumerGroupHeartbeatRequest(
        group_id=group_id, member_id="m", subscribed_topic_regex=regex, **names
    )


@pytest.mark.parametrize("regex", ["^orders-[0-9]+$", r"(orders-\d+|other)", ".*", "users"])
@pytest.mark.parametrize("tenant", ["acme", "initech"])
def test_a_pattern_is_confined_to_the_namespace(stage: Stage, regex: str, tenant: str) -> None:
    allowed = TENANTS[tenant].allowed_topics
    confined = confine(regex, prefix_of(tenant), allowed)

    book = (
        stage.play(tenant)
        >> client_sends(subscribe("g", regex))
        << to_broker(subscribe(physical_name(tenant, "g"), confined))
    )

    # And once more, when it is known.
    assert (
        book
        >> client_sends(subscribe("g", regex))
        << to_broker(subscribe(physical_name(tenant, "g"), confined))
    )


@pytest.mark.parametrize("regex", [None, ""])
def test_no_pattern_stays_none(stage: Stage, regex: str | None) -> None:
    book = stage.play() >> client_sends(subscribe("g", regex, "orders"))

    assert book << to_broker(subscribe(physical_name("acme", "g"), regex, physical_name("acme", "orders")))


@pytest.mark.parametrize("regex", ["(", "a{1001}", r"\Q" + "x" * 5000, "(?<name>a)(?<name>b)", r"\C"])
def test_a_pattern_that_cannot_be_confined_is_invalid(stage: Stage, regex: str) -> None:
    book = stage.play() >> client_sends(subscribe("g", regex))
    frame = book.said.to_client.popleft()

    assert int(ErrorCode.INVALID_REGULAR_EXPRESSION).to_bytes(2, "big") in frame
    assert b"not a valid regular expression" in frame


def test_the_assignment_names_own_topics_only(stage: Stage) -> None:
    own, foreign = (
        stage.topic(physical_name("acme", "orders")),
        stage.topic(physical_name("globex", "orders")),
    )

    def assigned(*topic_ids: bytes):
        partitions = [{"topic_id": one, "partitions": [0]} for one in topic_ids]
        return messages.ConsumerGroupHeartbeatResponse(
            member_id="m", assignment={"topic_partitions": partitions}
        )

    book = (
        stage.play()
        >> client_sends(subscribe("g", None))
        << to_broker(subscribe(physical_name("acme", "g"), None))
    )

    assert book >> broker_answers(assigned(foreign, own)) << to_client(assigned(own))


def test_members_are_described_with_the_pattern_they_sent(stage: Stage) -> None:
    def described(group_id: str, regex: str, host: str):
        member = {"member_id": "m", "client_host": host, "subscribed_topic_regex": regex}
        return messages.ConsumerGroupDescribeResponse(groups=[{"group_id": group_id, "members": [member]}])

    asked, physical = (
        messages.ConsumerGroupDescribeRequest(group_ids=[name]) for name in ("g", physical_name("acme", "g"))
    )
    book = stage.play() >> client_sends(asked) << to_broker(physical)

    book >> broker_answers(
        described(physical_name("acme", "g"), confine("orders.*", prefix_of("acme")), "/10.0.0.9")
    )

    assert book << to_client(described("g", "orders.*", "/proxy.example.com"))


def streams(regex: str | None, *, group_id: str = "g", topic: str = "orders"):
    subtopology = {
        "subtopology_id": "0",
        "source_topics": [topic],
        "source_topic_regex": [] if regex is None else [regex],
    }
    return messages.StreamsGroupHeartbeatRequest(
        group_id=group_id, member_id="m", topology={"subtopologies": [subtopology]}
    )


def test_a_topology_names_own_topics(stage: Stage) -> None:
    expected = streams(None, group_id=physical_name("acme", "g"), topic=physical_name("acme", "orders"))

    assert stage.play() >> client_sends(streams(None)) << to_broker(expected)


def test_a_topology_with_a_pattern_that_cannot_be_confined_is_invalid(stage: Stage) -> None:
    book = stage.play() >> client_sends(streams("("))
    frame = book.said.to_client.popleft()

    assert int(ErrorCode.STREAMS_INVALID_TOPOLOGY).to_bytes(2, "big") in frame


def test_a_hidden_source_topic_is_missing(stage: Stage) -> None:
    absent = stage.namespaces["acme"].absent_topic("users")
    detail = "Source topics {} are missing."
    answer, expected = (
        messages.StreamsGroupHeartbeatResponse(status=[{"status_detail": detail.format(name)}])
        for name in (physical_name("acme", absent), "users")
    )
    assert (
        stage.play("acme")
        >> client_sends(streams(None, topic="users"))
        << to_broker(streams(None, group_id=physical_name("acme", "g"), topic=physical_name("acme", absent)))
        >> broker_answers(answer)
        << to_client(expected)
    )


@pytest.mark.parametrize(
    "field", ["state_changelog_topics", "repartition_source_topics", "repartition_sink_topics"]
)
def test_the_broker_creates_no_internal_topic_that_the_tenant_may_not_have(stage: Stage, field: str) -> None:
    def topology(name: str, group_id: str):
        topics = [name] if field == "repartition_sink_topics" else [{"name": name}]
        return messages.StreamsGroupHeartbeatRequest(
            group_id=group_id, topology={"subtopologies": [{"subtopology_id": "0", field: topics}]}
        )

    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    refusal = messages.StreamsGroupHeartbeatResponse(error_code=denied, error_message=denied.message)
    assert stage.play("acme") >> client_sends(topology("app-store-changelog", "g")) << to_client(refusal)
    assert (
        stage.play("initech")
        >> client_sends(topology("app-store-changelog", "g"))
        << to_broker(topology(physical_name("initech", "app-store-changelog"), physical_name("initech", "g")))
    )


def with_changelog(name: str, group_id: str, *, source: str = "orders", partitions: int = 0, **configs: str):
    changelog = {"name": name, "partitions": partitions, "replication_factor": 0}
    changelog["topic_configs"] = [{"key": key, "value": value} for key, value in configs.items()]
    subtopology = {
        "subtopology_id": "0",
        "source_topics": [source],
        "state_changelog_topics": [changelog],
    }
    return messages.StreamsGroupHeartbeatRequest(group_id=group_id, topology={"subtopologies": [subtopology]})


def invalid(text: str):
    return messages.StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY, error_message=f"POLICY_VIOLATION: {text}"
    )


def test_an_internal_topic_is_judged_by_the_policy(stage: Stage) -> None:
    request = with_changelog("app-changelog", "g", **{"flush.messages": "1"})

    book = stage.play("initech") >> client_sends(request)

    text = "Invalid value 1 for configuration flush.messages: this cluster allows 9223372036854775807"
    assert book << to_client(invalid(f"internal topic app-changelog: {text}"))


def test_an_internal_topic_is_one_of_those_that_a_tenant_may_have() -> None:
    stage = Stage({**TENANTS, "initech": replace(TENANTS["initech"], max_topics=2)})
    bounds = stage.namespaces["initech"].bounds
    has = {physical_name("initech", "orders"): 3}
    book = stage.play("initech") >> client_sends(with_changelog("one", "g")) << counts()
    book >> counted(bounds, has)
    book << to_broker(
        with_changelog(
            physical_name("initech", "one"),
            physical_name("initech", "g"),
            source=physical_name("initech", "orders"),
        )
    )

    other = stage.play("initech") >> client_sends(with_changelog("two", "h"))

    text = "Another topic is not allowed: there are 2, and this cluster allows 2 (max_topics)"
    assert other << to_client(invalid(text))


def test_an_internal_topic_has_as_many_partitions_as_its_source() -> None:
    limits = {"max_topics": 9, "max_partitions": 5}
    stage = Stage({**TENANTS, "initech": replace(TENANTS["initech"], **limits)})
    book = stage.play("initech") >> client_sends(with_changelog("one", "g")) << counts()

    book >> counted(stage.namespaces["initech"].bounds, {physical_name("initech", "orders"): 3})

    text = "3 more partitions are not allowed: there are 3 over all topics, and this cluster allows 5"
    assert book << to_client(invalid(f"{text} (max_partitions)"))


@pytest.mark.parametrize(("virtual", "physical"), [(12, 4), (0, 4)])
def test_bounds_count_the_partitions_that_brokers_have(virtual: int, physical: int) -> None:
    limits = {"max_topics": 9, "max_partitions": 5}
    stage = Stage({**TENANTS, "initech": replace(TENANTS["initech"], **limits)})
    divided(stage, "*", partitions=PartitionMap(12, 4), tenant="initech")
    request = with_changelog("one", "g", partitions=virtual, **{"cleanup.policy": "delete"})
    book = stage.play("initech") >> client_sends(request) << counts()

    book >> counted(stage.namespaces["initech"].bounds, {physical_name("initech", "orders"): 3})

    text = (
        f"{physical} more partitions are not allowed: there are 3 over all topics, and this cluster allows 5"
    )
    assert book << to_client(invalid(f"{text} (max_partitions)"))

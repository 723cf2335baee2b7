"""Creating, changing and deleting topics: what is a tenant's to do, and in which words it is told no."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.filters.configs.broker_configs import SHOWN
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    await_no_topic,
    await_topic,
    create_topic,
    delete_topic,
    metadata_of,
    topic_id_of,
)
from support.gateways.gateway_fixtures import Connect, FreshTopic, UniqueName
from support.physical_names import physical_name, prefix_of

CREATE_VERSIONS = range(2, 8)
BROKER = 4
LONGEST_OF_INITECH = 249 - len(prefix_of("initech"))


def _topic(name: str, partitions: int = 1) -> Any:
    return CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)


def _create(client: RawClient, version: int, *names: str, **fields: Any) -> dict[str, tuple[int, str | None]]:
    request = CreateTopicsRequest(topics=[_topic(name) for name in names], **fields)
    response = client.request(request, version)
    return {topic.name: (topic.error_code, topic.error_message) for topic in response.topics}


@pytest.mark.parametrize("version", CREATE_VERSIONS)
def test_topic_outside_the_list_is_not_created(version: int, connect: Connect, direct: RawClient) -> None:
    delete_topic(direct, physical_name("acme", "billing"))
    acme = connect("acme")

    created = _create(acme, version, "users", "billing", "globex.orders")

    refused = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    assert created == {"billing": (ErrorCode.NONE, None), "users": refused, "globex.orders": refused}
    await_topic(acme, "billing")
    for name in (physical_name("acme", "users"), physical_name("acme", "globex.orders")):
        assert metadata_of(direct, name)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_only_refused_topics_need_no_broker_to_be_refused(connect: Connect) -> None:
    assert _create(connect("acme"), 7, "users", validate_only=True) == {
        "users": (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    }


@pytest.mark.parametrize("version", CREATE_VERSIONS)
def test_errors_are_about_virtual_names(version: int, connect: Connect, fresh_topic: FreshTopic) -> None:
    """The connection itself checks that no answer holds a physical name; here the text is there at all."""
    fresh_topic("globex", "orders")
    globex = connect("globex")

    created = _create(globex, version, "orders", "with/slash", "..")

    assert created == {
        "orders": (ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'orders' already exists."),
        "with/slash": (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: 'with/slash' contains one or more characters other than ASCII alphanumerics,"
            " '.', '_' and '-'",
        ),
        "..": (ErrorCode.INVALID_TOPIC_EXCEPTION, created[".."][1]),
    }


def test_names_that_collide_on_the_broker_collide_in_virtual_words(
    connect: Connect, unique: UniqueName
) -> None:
    """A period and an underscore collide in metric names, so a broker refuses the second topic."""
    globex, name = connect("globex"), unique("a.b")
    create_topic(globex, name)

    error_code, text = _create(globex, 7, name.replace(".", "_"))[name.replace(".", "_")]

    assert error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert text == f"Topic '{name.replace('.', '_')}' collides with existing topic: {name}"


@pytest.mark.parametrize("version", CREATE_VERSIONS)
def test_longest_name_is_shorter_by_the_prefix(version: int, connect: Connect) -> None:
    initech = connect("initech")
    longest = f"v{version}-".ljust(LONGEST_OF_INITECH, "x")

    created = _create(initech, version, longest, longest + "x", validate_only=True)

    assert created[longest] == (ErrorCode.NONE, None)
    error_code, text = created[longest + "x"]
    assert error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert str(LONGEST_OF_INITECH) in (text or "")


def test_longest_name_works(connect: Connect) -> None:
    initech, longest = connect("initech"), "y" * LONGEST_OF_INITECH
    create_topic(initech, longest)

    assert metadata_of(initech, longest)[0].name == longest
    (too_long,) = metadata_of(initech, longest + "y")
    assert too_long.error_code in (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    delete_topic(initech, longest)


def test_topics_are_created_by_asking_for_them_within_the_list_only(
    connect: Connect, direct: RawClient
) -> None:
    """Metadata creates what is missing where the broker does (auto.create.topics.enable)."""
    delete_topic(direct, physical_name("acme", "billing"))
    acme = connect("acme")
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in ("billing", "users")]

    acme.request(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 9)

    await_topic(acme, "billing")
    assert metadata_of(direct, physical_name("acme", "billing"))[0].error_code == ErrorCode.NONE
    assert (
        metadata_of(direct, physical_name("acme", "users"))[0].error_code
        == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


def _delete(client: RawClient, version: int, *names: str) -> dict[str, int]:
    if version < 6:
        request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=5000)
    else:
        states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in names]
        request = DeleteTopicsRequest(topics=states, timeout_ms=5000)
    return {one.name: one.error_code for one in client.request(request, version).responses}


@pytest.mark.parametrize("version", range(1, 7))
def test_deletion_is_refused_unless_the_tenant_may(
    version: int, connect: Connect, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    acme = connect("acme")

    assert _delete(acme, version, "orders", "users") == {
        "orders": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        "users": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert metadata_of(acme, "orders")[0].error_code == ErrorCode.NONE


def test_deletion_by_id_is_refused_unless_the_tenant_may(connect: Connect, fresh_topic: FreshTopic) -> None:
    topic_id = fresh_topic("acme", "orders")
    acme = connect("acme")
    state = DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id)

    (answer,) = acme.request(DeleteTopicsRequest(topics=[state], timeout_ms=5000), 6).responses

    assert (answer.error_code, answer.topic_id) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic_id)
    assert topic_id_of(acme, "orders") == topic_id


@pytest.mark.parametrize("version", range(1, 7))
def test_deletion_of_a_tenant_that_may_deletes_its_own_only(
    version: int, connect: Connect, fresh_topic: FreshTopic
) -> None:
    for tenant in ("initech", "globex"):
        fresh_topic(tenant, "shared-name")
    initech, globex = connect("initech"), connect("globex")

    assert _delete(initech, version, "shared-name") == {"shared-name": ErrorCode.NONE}

    await_no_topic(initech, "shared-name")
    assert metadata_of(globex, "shared-name")[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_and_refused_in_virtual_words(
    version: int, connect: Connect, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders", partitions=3)
    acme = connect("acme")

    def to(count: int, name: str = "orders") -> tuple[int, str | None]:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
        (result,) = acme.request(CreatePartitionsRequest(topics=[topic], timeout_ms=5000), version).results
        return result.error_code, result.error_message

    assert to(2)[0] == ErrorCode.INVALID_PARTITIONS
    assert "3 partition(s)" in (to(2)[1] or "")
    assert to(4) == (ErrorCode.NONE, None)
    assert to(9, "users")[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(1, 5))
def test_of_a_brokers_configs_a_tenant_reads_what_concerns_it(
    version: int, connect: Connect, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    resources = [
        DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        for kind, name in ((BROKER, "1"), (BROKER, ""), (8, "1"), (16, "metrics"), (2, "orders"), (99, "x"))
    ]

    results = connect("acme").request(DescribeConfigsRequest(resources=resources), version).results

    codes = {(one.resource_type, one.resource_name): one.error_code for one in results}
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert codes == {
        (BROKER, "1"): ErrorCode.NONE,
        (BROKER, ""): ErrorCode.NONE,
        (8, "1"): denied,
        (16, "metrics"): denied,
        (2, "orders"): ErrorCode.NONE,
        (99, "x"): ErrorCode.INVALID_REQUEST,
    }
    assert {one.resource_type for one in results if one.configs} == {2, BROKER}
    (of_the_broker,) = [one for one in results if (one.resource_type, one.resource_name) == (BROKER, "1")]
    assert "message.max.bytes" in {config.name for config in of_the_broker.configs}
    assert {config.name for config in of_the_broker.configs} <= SHOWN
    assert all(config.read_only and not config.synonyms for config in of_the_broker.configs)


@pytest.mark.parametrize("request_class", [AlterConfigsRequest, IncrementalAlterConfigsRequest])
def test_configs_of_brokers_are_not_changed(request_class: Any, connect: Connect, direct: RawClient) -> None:
    config = request_class.AlterableConfig(name="log.cleaner.threads", value="2")
    resource = request_class.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[config])

    (result,) = connect("acme").request(request_class(resources=[resource]), 1).responses

    assert result.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    described = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=BROKER, resource_name="1", configuration_keys=["log.cleaner.threads"]
    )
    (unchanged,) = direct.request(DescribeConfigsRequest(resources=[described]), 4).results
    assert [one.value for one in unchanged.configs] == ["1"]

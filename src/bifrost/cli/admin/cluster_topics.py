"""Topics of a cluster for the admin API: their sizes and configs, by requests of the gateway's own account."""

from collections.abc import Mapping, Sequence
from typing import Any

from bifrost.control.clusters.topic_state import TopicState
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)

TOPICS_OF_ONE_REQUEST = 500
"""Topics that one request is about: a broker answers it in a moment."""

_METADATA, _DESCRIBE_CONFIGS, _INCREMENTAL_ALTER_CONFIGS, _CREATE_TOPICS = 8, 4, 1, 5
"""Newest versions used here; CreateTopics v5 says how large the topic is."""
_TOPIC = 2
"""ConfigResource.Type.TOPIC."""
_DYNAMIC_TOPIC_CONFIG = 1
"""ConfigSource: the config is set for the topic itself."""
_SET, _DELETE = 0, 1
"""AlterConfigOp.OpType."""


async def create_topic(
    broker: Broker,
    client: BrokerClient,
    name: str,
    wanted: TopicState,
    *,
    timeout_ms: int,
    validate_only: bool,
) -> TopicState | str:
    """Create a topic by its physical name, or ask whether it could be; return its size, or Kafka's error.

    Raises:
        BrokerError: the broker does not answer.
    """
    version = broker.newest(ApiKey.CREATE_TOPICS, _CREATE_TOPICS)
    topic = CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=wanted.partitions,
        replication_factor=wanted.replication_factor,
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=config, value=value)
            for config, value in wanted.configs.items()
        ],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms, validate_only=validate_only)
    (found,) = (await client.request(request, version)).topics
    if found.error_code:
        return _text(found)
    return TopicState(found.num_partitions, found.replication_factor, wanted.configs)


async def describe_topics(
    broker: Broker, client: BrokerClient, names: Sequence[str]
) -> dict[str, TopicState]:
    """Return the topics of these physical names that exist.

    Raises:
        BrokerError: the broker does not answer, or does not let the gateway's account describe configs.
    """
    found: dict[str, TopicState] = {}
    for begin in range(0, len(names), TOPICS_OF_ONE_REQUEST):
        some = names[begin : begin + TOPICS_OF_ONE_REQUEST]
        sizes = await _sizes(broker, client, some)
        if not sizes:
            continue
        configs = await _configs(broker, client, list(sizes))
        found |= {name: TopicState(*size, configs[name]) for name, size in sizes.items() if name in configs}
    return found


async def alter_topic_configs(
    broker: Broker, client: BrokerClient, changes: Mapping[str, Mapping[str, str | None]]
) -> dict[str, str]:
    """Set configs of topics, and take back those whose value is None; return Kafka's error of each that stayed.

    Raises:
        BrokerError: the broker does not answer.
    """
    errors: dict[str, str] = {}
    names = list(changes)
    version = broker.newest(ApiKey.INCREMENTAL_ALTER_CONFIGS, _INCREMENTAL_ALTER_CONFIGS)
    for begin in range(0, len(names), TOPICS_OF_ONE_REQUEST):
        resources = [
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=_TOPIC,
                resource_name=name,
                configs=[
                    IncrementalAlterConfigsRequest.AlterableConfig(
                        name=config, config_operation=_DELETE if value is None else _SET, value=value
                    )
                    for config, value in changes[name].items()
                ],
            )
            for name in names[begin : begin + TOPICS_OF_ONE_REQUEST]
        ]
        answer = await client.request(IncrementalAlterConfigsRequest(resources=resources), version)
        errors |= {one.resource_name: _text(one) for one in answer.responses if one.error_code}
    return errors


async def _sizes(broker: Broker, client: BrokerClient, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    version = broker.newest(ApiKey.METADATA, _METADATA)
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    answer = await client.request(MetadataRequest(topics=topics, allow_auto_topic_creation=False), version)
    return {
        one.name: (len(one.partitions), min(len(part.replica_nodes) for part in one.partitions))
        for one in answer.topics
        if one.partitions and one.name
    }


async def _configs(broker: Broker, client: BrokerClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    resources = [
        DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=_TOPIC, resource_name=name, configuration_keys=None
        )
        for name in names
    ]
    version = broker.newest(ApiKey.DESCRIBE_CONFIGS, _DESCRIBE_CONFIGS)
    answer = await client.request(DescribeConfigsRequest(resources=resources), version)
    found: dict[str, dict[str, str]] = {}
    for one in answer.results:
        if one.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue  # It was deleted meanwhile.
        if one.error_code:
            raise BrokerError(f"configs of topic {one.resource_name} cannot be described: {_text(one)}")
        found[one.resource_name] = {
            config.name: config.value
            for config in one.configs
            if config.config_source == _DYNAMIC_TOPIC_CONFIG and config.value is not None
        }
    return found


def _text(result: Any) -> str:
    text = f": {result.error_message}" if result.error_message else ""
    return f"{ErrorCode(result.error_code).name}{text}"

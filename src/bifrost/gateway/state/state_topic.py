"""The topic of the state: how it is created, and which topic would not do."""

from bifrost.config.fields.state import State
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import TopicSettings, UpstreamTopic
from bifrost.state.state_table import StateLimits
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import DescribeConfigsRequest

MIN_COMPACTION_LAG_MS = 60_000
"""No record is removed for a minute, so that a reader sees every change and a writer finds its own."""

DELETE_RETENTION_MS = 86_400_000
"""How long the end of a purged record stays in the topic: a reader that was away for less has seen it. A day, Kafka's
own default."""

_TOPIC_RESOURCE, _CONFIGS_VERSION = 2, 1
_POLICY = "cleanup.policy"


class UnusableTopic(BrokerError):
    """The topic exists and would lose or mix up the state; the text says what to do."""


def state_topic_settings(settings: State) -> TopicSettings:
    """Return the settings of the state's topic."""
    return TopicSettings(
        settings.topic,
        settings.partitions,
        settings.replication_factor,
        {
            _POLICY: "compact",
            "compression.type": "producer",
            "min.compaction.lag.ms": str(MIN_COMPACTION_LAG_MS),
            "delete.retention.ms": str(DELETE_RETENTION_MS),
        },
        origin="proxy.state",
    )


def state_limits(settings: State) -> StateLimits:
    """Return the bounds of the state."""
    return StateLimits(settings.max_records, settings.max_record_bytes, settings.max_bytes)


async def check_topic(topic: UpstreamTopic) -> None:
    """Check an existing topic, whose partitions are known.

    Raises:
        UnusableTopic: it has several partitions, or is not compacted.
        BrokerError: no broker answers.
    """
    name = topic.settings.name
    if topic.partition_count != 1:
        raise UnusableTopic(
            f"topic {name} has {topic.partition_count} partitions, and the order of one decides: export the state, "
            "create the topic with one partition, and import it"
        )
    policy = await _policy_of(topic)
    if policy not in (None, "compact"):
        raise UnusableTopic(
            f"topic {name} has {_POLICY}={policy}, which would delete the state: set it to compact"
        )


async def _policy_of(topic: UpstreamTopic) -> str | None:
    """Ask for the topic's cleanup policy; None where the gateway's account may not see it."""
    broker = topic.any_broker()
    if not broker.offered.offers(ApiKey.DESCRIBE_CONFIGS, _CONFIGS_VERSION):
        return None
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name=topic.settings.name, configuration_keys=[_POLICY]
    )
    request = DescribeConfigsRequest(resources=[resource])
    answer = await topic.client_of(broker).request(request, _CONFIGS_VERSION)
    found = [config.value for result in answer.results for config in result.configs]
    return found[0] if found else None

"""How much the gateway asks a broker for by itself, counted in items like a client's request: topics and partitions.

A tenant pays for these requests from its time at the brokers (forwarding/broker_budgets.py), because a small request of
a client can make the gateway ask for thousands of topics.
"""

from typing import Any, cast

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from bifrost.wire.steps import in_steps

_PARTITIONS = ("partitions", "partition_indexes")
"""What Kafka calls the partitions of a topic in requests."""


def items_cost_ns(message: Message) -> int:
    """Return what the topics in a request, or the partitions on its page, cost the broker, in nanoseconds of CPU time.

    A request for all topics, which only older brokers get, has no items: a tenant does not pay for topics of others.
    Groups are charged by `AtBroker.groups`.
    """
    request = cast(Any, message)
    topics = getattr(request, "topics", None) or ()
    items = len(topics)
    for field in _PARTITIONS:
        if topics and hasattr(topics[0], field):
            items += sum(len(getattr(topic, field)) for topic in in_steps(topics))
    if not items and message.SCHEMA.api_key == ApiKey.DESCRIBE_TOPIC_PARTITIONS:
        items = request.response_partition_limit
    return items * ITEM_NS


def request_cost_ns(message: Message) -> int:
    """Return what such a request costs the broker in all."""
    assert message.SCHEMA.api_key is not None
    return broker_cost_ns(message.SCHEMA.api_key) + items_cost_ns(message)

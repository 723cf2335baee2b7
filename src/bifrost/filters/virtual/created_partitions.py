"""CreateTopics and CreatePartitions: a tenant asks for virtual partitions, and the brokers make the physical ones.

With a ratio the tenant says how many, and more physical partitions change the place of none that there is. Where the
configuration has both numbers a tenant can have no others.

A topic is compacted only if its rule says so: else its virtual partitions would share the keys of a physical one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.tenancy.virtual_partitions.compacted.key_groups import KEYED_GROUPS
from bifrost.tenancy.virtual_partitions.partition_map import MAX_VIRTUAL
from bifrost.tenancy.virtual_partitions.tagged_batches import GROUPS
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterConfigsResponse,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    IncrementalAlterConfigsResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import (
        AlterConfigsRequest,
        CreatePartitionsRequest,
        IncrementalAlterConfigsRequest,
    )

BY_DEFAULT = -1
"""A number of partitions that is left to the brokers (KIP-464)."""
CLEANUP_POLICY, DELETE, COMPACT = "cleanup.policy", "delete", "compact"
_TOPIC = 2
"""ConfigResource.Type.TOPIC."""
_NOT_COMPACTED = (
    "the topic cannot be compacted: virtual partitions would share their keys, unless the operator's rule for them "
    "says that its topics are compacted"
)

_HAS = re.compile(r"has ([0-9]{1,9}) partition")
"""Where brokers say how many partitions a topic has that cannot get what is asked for (ReplicationControlManager)."""

_REFUSED: Note[list[Any]] = Note("refused_virtual_topics")
_WANTED: Note[dict[str, int]] = Note("wanted_virtual_partitions")
"""How many a topic with a ratio is to have."""


class CreatedPartitionsFilter:
    """Creates the physical partitions of a topic."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: CreateTopicsRequest) -> RequestStep:
        """Ask for the physical number of partitions; refuse another virtual one than that of the configuration."""
        virtual, accepted, refused = virtual_topics(exchange), [], []
        for topic in in_steps(request.topics):
            partitions = virtual.map_of(topic.name)
            answer = None if partitions is None else _refuse_creation(topic, partitions)
            if answer is not None:
                refused.append(answer)
                continue
            accepted.append(topic)
            if partitions is not None:
                if topic.num_partitions != BY_DEFAULT or not partitions.ratio:
                    topic.num_partitions = partitions.at_brokers(topic.num_partitions)
                has_policy = any(one.name == CLEANUP_POLICY for one in in_steps(topic.configs))
                if not (has_policy or partitions.is_keyed):
                    # The brokers' default may be another.
                    new = CreateTopicsRequest.CreatableTopicConfig
                    topic.configs.append(new(name=CLEANUP_POLICY, value=DELETE))
        request.topics = accepted
        exchange.keep(_REFUSED, refused)
        return FORWARD

    def on_response(self, exchange: Exchange, response: CreateTopicsResponse) -> ResponseStep:
        """Show the number of virtual partitions, and add the answers for refused topics."""
        virtual = virtual_topics(exchange)
        for topic in in_steps(response.topics):
            partitions = virtual.map_of(topic.name)
            found = None if partitions is None else partitions.at(topic.num_partitions)
            if found is not None:
                topic.num_partitions = found.virtual
        refused = exchange.kept(_REFUSED)
        response.topics.extend(refused)
        return FORWARD


class AddedPartitionsFilter:
    """Adds physical partitions where the configuration has a ratio; refuses it elsewhere."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: CreatePartitionsRequest) -> RequestStep:
        """Ask for the physical number of partitions; refuse one that cannot be."""
        virtual, accepted, refused = virtual_topics(exchange), [], []
        wanted = dict[str, int]()
        for topic in in_steps(request.topics):
            partitions = virtual.map_of(topic.name)
            found = None if partitions is None else _refuse_addition(topic, partitions)
            if found is not None:
                code, text = found
                answer = CreatePartitionsResponse.CreatePartitionsTopicResult(
                    name=topic.name, error_code=int(code), error_message=text
                )
                refused.append(answer)
                continue
            accepted.append(topic)
            if partitions is not None:
                wanted[topic.name] = topic.count
                topic.count = partitions.at_brokers(topic.count)
        request.topics = accepted
        exchange.keep(_REFUSED, refused)
        exchange.keep(_WANTED, wanted)
        return FORWARD

    def on_response(self, exchange: Exchange, response: CreatePartitionsResponse) -> ResponseStep:
        """Say the number of virtual partitions where a broker says that of its own, and add the refused topics."""
        virtual, wanted = virtual_topics(exchange), exchange.kept(_WANTED)
        for topic in in_steps(response.results):
            partitions = virtual.map_of(topic.name) if topic.name in wanted else None
            if partitions is not None and topic.error_code == ErrorCode.INVALID_PARTITIONS:
                has = _HAS.search(topic.error_message or "")
                number = "enough" if has is None else int(has[1]) * partitions.ratio
                text = f"The topic has {number} virtual partitions: {wanted[topic.name]} would not be more"
                topic.error_message = text
        refused = exchange.kept(_REFUSED)
        response.results.extend(refused)
        return FORWARD


class CompactionFilter:
    """Refuses to let topics be compacted whose rule does not say so, in AlterConfigs and IncrementalAlterConfigs."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(
        self, exchange: Exchange, request: AlterConfigsRequest | IncrementalAlterConfigsRequest
    ) -> RequestStep:
        """Take out such topics."""
        virtual = virtual_topics(exchange)
        accepted: list[Any] = []
        refused: list[Any] = []
        resources: list[Any] = [*request.resources]
        for resource in in_steps(resources):
            is_topic = resource.resource_type == _TOPIC
            partitions = virtual.map_of(resource.resource_name) if is_topic else None
            is_bound = partitions is not None and not partitions.is_keyed
            if is_bound and any(_compacts(one) for one in in_steps(resource.configs)):
                refused.append(resource)
            else:
                accepted.append(resource)
        request.resources = accepted
        exchange.keep(_REFUSED, refused)
        return FORWARD

    def on_response(
        self, exchange: Exchange, response: AlterConfigsResponse | IncrementalAlterConfigsResponse
    ) -> ResponseStep:
        """Add their answers."""
        refused = exchange.kept(_REFUSED)
        for resource in in_steps(refused):
            fields = {
                "error_code": int(ErrorCode.INVALID_CONFIG),
                "error_message": _NOT_COMPACTED,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            }
            if isinstance(response, AlterConfigsResponse):
                response.responses.append(AlterConfigsResponse.AlterConfigsResourceResponse(**fields))
            else:
                response.responses.append(
                    IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(**fields)
                )
        return FORWARD


def _compacts(config: Any) -> bool:
    return config.name == CLEANUP_POLICY and COMPACT in (config.value or "")


def can_have(partitions: PartitionMap, number: int) -> bool:
    """Whether topics may have so many virtual partitions."""
    if not partitions.ratio:
        return number == partitions.virtual
    return 0 < number <= partitions.virtual and number % partitions.ratio == 0


def numbers_text(partitions: PartitionMap, wanted: int) -> str:
    """Say how many virtual partitions topics may have, and which number would do."""
    if not partitions.ratio:
        sharing = KEYED_GROUPS if partitions.is_keyed else GROUPS
        most = min(MAX_VIRTUAL, sharing * partitions.physical)
        text = f"The topic has {partitions.virtual} virtual partitions; the operator of the gateway sets how many"
        return text if wanted <= partitions.virtual else f"{text}, and can raise it to {most}"
    near = partitions.ratio * partitions.at_brokers(min(max(wanted, 1), partitions.virtual))
    text = (
        f"The number of virtual partitions is a multiple of {partitions.ratio}, at most {partitions.virtual}"
    )
    return f"{text}: {near} would do"


def _refuse_addition(topic: Any, partitions: PartitionMap) -> tuple[ErrorCode, str] | None:
    """Return why a topic gets no more partitions, or None."""
    if not partitions.ratio or not can_have(partitions, topic.count):
        return ErrorCode.INVALID_PARTITIONS, numbers_text(partitions, topic.count)
    if topic.assignments:
        text = "Virtual partitions cannot be added with an assignment of replicas"
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, text
    return None


def _refuse_creation(topic: Any, partitions: PartitionMap) -> Any:
    """Return the answer for a topic that is not created, or None."""
    code, text = ErrorCode.NONE, ""
    if topic.assignments:
        code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        text = "Topics with virtual partitions cannot be created with an assignment of replicas"
    elif topic.num_partitions != BY_DEFAULT and not can_have(partitions, topic.num_partitions):
        code, text = ErrorCode.INVALID_PARTITIONS, numbers_text(partitions, topic.num_partitions)
    elif not partitions.is_keyed and any(_compacts(one) for one in in_steps(topic.configs)):
        code, text = ErrorCode.INVALID_CONFIG, _NOT_COMPACTED
    if code is ErrorCode.NONE:
        return None
    return CreateTopicsResponse.CreatableTopicResult(
        name=topic.name,
        error_code=int(code),
        error_message=text,
        topic_config_error_code=ErrorCode.NONE,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )

"""CreateTopics and CreatePartitions: a tenant asks for virtual partitions, and the brokers make the physical ones.

Such a topic is not compacted: its virtual partitions would share the keys of a physical one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
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
    "topics with virtual partitions cannot be compacted: virtual partitions would share their keys"
)

_REFUSED: Note[list[Any]] = Note("refused_virtual_topics")


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
                topic.num_partitions = partitions.physical
                if not any(one.name == CLEANUP_POLICY for one in in_steps(topic.configs)):
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
            if partitions is not None and topic.num_partitions == partitions.physical:
                topic.num_partitions = partitions.virtual
        refused = exchange.kept(_REFUSED)
        response.topics.extend(refused)
        return FORWARD


class AddedPartitionsFilter:
    """Refuses partitions beyond those of the configuration."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: CreatePartitionsRequest) -> RequestStep:
        """Take out topics with virtual partitions."""
        virtual, accepted, refused = virtual_topics(exchange), [], []
        for topic in in_steps(request.topics):
            partitions = virtual.map_of(topic.name)
            if partitions is None:
                accepted.append(topic)
                continue
            text = f"The topic has {partitions.virtual} virtual partitions; the operator of the gateway sets how many"
            refused.append(
                CreatePartitionsResponse.CreatePartitionsTopicResult(
                    name=topic.name, error_code=int(ErrorCode.INVALID_PARTITIONS), error_message=text
                )
            )
        request.topics = accepted
        exchange.keep(_REFUSED, refused)
        return FORWARD

    def on_response(self, exchange: Exchange, response: CreatePartitionsResponse) -> ResponseStep:
        """Add the answers for refused topics."""
        refused = exchange.kept(_REFUSED)
        response.results.extend(refused)
        return FORWARD


class CompactionFilter:
    """Refuses to let topics with virtual partitions be compacted, in AlterConfigs and IncrementalAlterConfigs."""

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
            is_virtual = resource.resource_type == _TOPIC and virtual.map_of(resource.resource_name)
            if is_virtual and any(_compacts(one) for one in in_steps(resource.configs)):
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


def _refuse_creation(topic: Any, partitions: PartitionMap) -> Any:
    """Return the answer for a topic that is not created, or None."""
    code, text = ErrorCode.NONE, ""
    if topic.assignments:
        code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        text = "Topics with virtual partitions cannot be created with an assignment of replicas"
    elif topic.num_partitions not in (BY_DEFAULT, partitions.virtual):
        code = ErrorCode.INVALID_PARTITIONS
        text = f"The topic has {partitions.virtual} virtual partitions; the operator of the gateway sets how many"
    elif any(_compacts(one) for one in in_steps(topic.configs)):
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

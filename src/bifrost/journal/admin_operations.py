"""Reads what a request changed, item by item, and its result, for the journal's events.

Names are the client's own: requests are read as the client sent them, answers as the client got them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import Any

from bifrost.journal.topic_names import topic_id_text
from bifrost.tenancy.acls.acl_binding import Operation as AclOperation
from bifrost.tenancy.acls.acl_binding import PatternType, Permission, ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.steps import in_steps

_NOT_SHOWN = "(not shown)"
_TOPIC = 2
_RESOURCE_TYPES = {_TOPIC: "topic", 4: "broker", 8: "broker_logger", 16: "client_metrics", 32: "group"}
"""Names of ConfigResource.Type."""
_DELETED = "(deleted)"
_OPERATIONS = {0: "", 1: _DELETED, 2: "(added) ", 3: "(taken out) "}
"""What is put before the value, by AlterConfigOp.OpType."""

MAX_VALUE_LENGTH = 1000
"""Most characters of a config's value; the rest is cut off."""

MAX_PARTS = 1000
"""Most configs or partitions of an item, or topics of a group, that are told one by one; `more` counts the others."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A change of one item."""

    resource_type: str
    name: str | None
    error_code: int
    after: Mapping[str, str] = field(default_factory=dict)
    """The state that the client asked for."""
    before: Mapping[str, str] = field(default_factory=dict)
    """The state before, as far as the answer says it."""
    topic_id: bytes | None = None
    """The topic's ID, if the client named the topic by it."""


def operations(api_key: int, request: Any, answer: Any) -> Iterator[Operation]:
    """Yield the changes that a request of one of `ADMIN_APIS` made; none for a request that only validates."""
    if getattr(request, "validate_only", False):
        return
    yield from _READERS[ApiKey(api_key)](request, answer)


def _create_topics(request: Any, answer: Any) -> Iterator[Operation]:
    asked = {topic.name: topic for topic in in_steps(request.topics)}
    for result in answer.topics:
        topic = asked.get(result.name)
        after: dict[str, str] = {}
        if topic is not None:
            has_assignments = bool(topic.assignments)
            replicas = len(topic.assignments[0].broker_ids) if has_assignments else topic.replication_factor
            partitions = len(topic.assignments) if has_assignments else topic.num_partitions
            # From v5 on the answer says which value the broker's defaults gave for -1 (KIP-525).
            after["partitions"] = str(result.num_partitions if partitions < 0 else partitions)
            after["replication_factor"] = str(result.replication_factor if replicas < 0 else replicas)
            after |= _configs(topic.configs, is_shown=True)
        yield Operation("topic", result.name, result.error_code, after)


def _delete_topics(request: Any, answer: Any) -> Iterator[Operation]:
    for result in answer.responses:
        yield Operation(
            "topic", result.name, result.error_code, topic_id=None if result.name else result.topic_id
        )


def _create_partitions(request: Any, answer: Any) -> Iterator[Operation]:
    counts = {topic.name: topic.count for topic in in_steps(request.topics)}
    for result in answer.results:
        yield Operation(
            "topic", result.name, result.error_code, {"partitions": str(counts.get(result.name, ""))}
        )


def _alter_configs(request: Any, answer: Any) -> Iterator[Operation]:
    asked = {(one.resource_type, one.resource_name): one.configs for one in in_steps(request.resources)}
    for result in answer.responses:
        kind = _RESOURCE_TYPES.get(result.resource_type, str(result.resource_type))
        configs = asked.get((result.resource_type, result.resource_name), ())
        # Brokers' configs may contain passwords.
        after = _configs(configs, is_shown=result.resource_type == _TOPIC)
        yield Operation(kind, result.resource_name, result.error_code, after)


def _delete_records(request: Any, answer: Any) -> Iterator[Operation]:
    offsets = {
        (topic.name, one.partition_index): one.offset
        for topic in request.topics
        for one in in_steps(topic.partitions)
    }
    for topic in answer.topics:
        after = {
            f"offset:{one.partition_index}": str(offsets.get((topic.name, one.partition_index), ""))
            for one in topic.partitions[:MAX_PARTS]
        }
        yield Operation("topic", topic.name, _first_error(topic.partitions), after | _more(topic.partitions))
    while offsets:  # Freed in steps: a request may name a hundred thousand.
        for _ in in_steps(range(min(len(offsets), 64))):
            offsets.popitem()


def _delete_groups(request: Any, answer: Any) -> Iterator[Operation]:
    for result in answer.results:
        yield Operation("group", result.group_id, result.error_code)


def _delete_offsets(request: Any, answer: Any) -> Iterator[Operation]:
    after = {
        f"offset:{topic.name}": _listed(str(one.partition_index) for one in in_steps(topic.partitions))
        for topic in in_steps(request.topics[:MAX_PARTS])
    }
    after |= _more(request.topics)
    errors = [answer.error_code, *(_first_error(topic.partitions) for topic in answer.topics)]
    yield Operation("group", request.group_id, next((one for one in errors if one), 0), after)


def _share_offsets(request: Any, answer: Any) -> Iterator[Operation]:
    after = {
        f"offset:{topic.topic_name}": _listed(
            f"{one.partition_index}={one.start_offset}" for one in in_steps(getattr(topic, "partitions", ()))
        )
        for topic in in_steps(request.topics[:MAX_PARTS])
    }
    after |= _more(request.topics)
    results = [
        getattr(one, "error_code", 0) or _first_error(getattr(one, "partitions", ()))
        for one in answer.responses
    ]
    yield Operation(
        "group", request.group_id, answer.error_code or next((one for one in results if one), 0), after
    )


def _create_acls(request: Any, answer: Any) -> Iterator[Operation]:
    for one, result in zip(in_steps(request.creations), answer.results, strict=False):
        acl = _acl(one, one.resource_pattern_type, one.operation)
        yield Operation("acl", one.resource_name, result.error_code, acl)


def _delete_acls(request: Any, answer: Any) -> Iterator[Operation]:
    for wanted, result in zip(in_steps(request.filters), answer.filter_results, strict=False):
        if result.error_code:
            yield Operation("acl", wanted.resource_name_filter, result.error_code)
        for one in in_steps(result.matching_acls):
            acl = _acl(one, one.pattern_type, one.operation)
            yield Operation("acl", one.resource_name, one.error_code, before=acl)


def _acl(one: Any, pattern_type: int, operation: int) -> dict[str, str]:
    """Return what an ACL says, in the words of the state and of the configuration."""
    named = (
        ("resource_type", ResourceType, one.resource_type),
        ("pattern_type", PatternType, pattern_type),
        ("operation", AclOperation, operation),
        ("permission", Permission, one.permission_type),
    )
    return {
        **{key: _word(words, value) for key, words, value in named},
        "principal": (one.principal or "")[:MAX_VALUE_LENGTH],
        "host": (one.host or "")[:MAX_VALUE_LENGTH],
    }


def _word(words: type[IntEnum], value: int) -> str:
    try:
        return words(value).name
    except ValueError:  # The request is refused.
        return str(value)


def _alter_quotas(request: Any, answer: Any) -> Iterator[Operation]:
    asked: dict[str, dict[str, str]] = {}
    for entry in in_steps(request.entries):
        # Of an entity that is there twice the first counts, as in the answer.
        asked.setdefault(
            _entity(entry.entity),
            {one.key: _DELETED if one.remove else f"{one.value:.16g}" for one in entry.ops[:MAX_PARTS]}
            | _more(entry.ops),
        )
    for result in answer.entries:
        name = _entity(result.entity)
        yield Operation("quota", name, result.error_code, asked.get(name, {}))


def _entity(parts: Any) -> str:
    shown = (
        f"{one.entity_type}={'<default>' if one.entity_name is None else one.entity_name}"
        for one in parts[:MAX_PARTS]
    )
    return ",".join(shown)[:MAX_VALUE_LENGTH]


def _configs(configs: Any, *, is_shown: bool) -> dict[str, str]:
    return {
        f"config:{one.name}": _OPERATIONS.get(getattr(one, "config_operation", 0), "")
        + ((one.value or "")[:MAX_VALUE_LENGTH] if is_shown else _NOT_SHOWN)
        for one in in_steps((configs or ())[:MAX_PARTS])
    } | _more(configs or ())


def _first_error(parts: Any) -> int:
    return next((one.error_code for one in in_steps(parts) if one.error_code), 0)


def _more(parts: Any) -> dict[str, str]:
    """Return the number of parts that are not told one by one."""
    return {"more": str(len(parts) - MAX_PARTS)} if len(parts) > MAX_PARTS else {}


def _listed(parts: Iterator[str]) -> str:
    """Return the parts with commas between them, cut off like a config's value."""
    return ",".join(islice(parts, MAX_PARTS))[:MAX_VALUE_LENGTH]


def topic_id_of(operation: Operation) -> str | None:
    """Return the topic ID by which the client named the topic, as Kafka writes it; None if it used the name."""
    return None if operation.topic_id is None else topic_id_text(operation.topic_id)


_READERS: Mapping[ApiKey, Callable[[Any, Any], Iterator[Operation]]] = {
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.OFFSET_DELETE: _delete_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _share_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _share_offsets,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_quotas,
}

ADMIN_APIS = frozenset(_READERS)
"""APIs that change something other than data; each of their changes becomes an event."""

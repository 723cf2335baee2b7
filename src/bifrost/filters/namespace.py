"""Translates a decoded message between virtual and physical names, as its schema says.

The counterpart in the compiled engine is `rewrite`, which does the same to bytes; this module is for messages that must
be decoded anyway and for those that the engine could not finish. No API is named here: the schema knows the meaning of
each field.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from bifrost.filters.steps import FORWARD, Close, ResponseStep, TopicIds
from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_ids import FEW_IDS
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import entities_of
from bifrost.wire.message import Message
from bifrost.wire.program import Program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import Field, FieldType, message_schema
from bifrost.wire.steps import in_steps, let_go

_MANY = 1000
"""Elements that take a tenth of a millisecond to free."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One field on the way to the entities of a struct: the entity itself, or a struct that contains some."""

    attribute: str
    entity: Entity | None
    is_array: bool
    is_text: bool
    is_nullable: bool
    inner: tuple["_Step", ...]


@cache
def _steps_of(message: str, version: int) -> tuple[_Step, ...]:
    entities = entities_of(message, version)

    def steps(fields: tuple[Field, ...], prefix: str) -> tuple[_Step, ...]:
        found = []
        for field in fields:
            if version not in field.versions:
                continue
            path = prefix + field.kafka_name
            entity = entities.get(path)
            inner = steps(field.fields, path + ".")
            if inner or (entity is not None and entity.is_in_place):
                is_text = field.type is FieldType.STRING
                is_nullable = version in field.nullable
                step = _Step(
                    field.name, None if inner else entity, field.is_array, is_text, is_nullable, inner
                )
                found.append(step)
        # Names before IDs: an answer that carries both shows the owner of the ID.
        return tuple(sorted(found, key=lambda step: step.entity == Entity.TOPIC_ID))

    return steps(message_schema(message).fields, "")


def unknown_topic_ids(namespace: Namespace, request: Message, version: int) -> TopicIds | None:
    """Return the topic IDs in a request whose owners are to be looked up first; None: all are known."""
    _visit_topic_ids(namespace, request, _steps_of(request.SCHEMA.name, version))
    return TopicIds(namespace.take_unresolved()) if namespace.must_look_up() else None


def unknown_topic_ids_in_place(
    namespace: Namespace, program: Program, frame: bytes | memoryview, offset: int
) -> TopicIds | None:
    """Return the same of a request that is too large to be decoded.

    Args:
        namespace: of the tenant.
        program: rewrites requests of this API and version.
        frame: the request, without its length.
        offset: where its body begins, in bytes.
    """

    def look(slot: int, value: bytes) -> bytes | None:
        if slot == Entity.TOPIC_ID:
            namespace.physical(Entity.TOPIC_ID, value)
        return value if len(namespace.unresolved) <= FEW_IDS else None  # More make no difference.

    rewrite(program, frame, offset, Names(look))
    return TopicIds(namespace.take_unresolved()) if namespace.must_look_up() else None


def masking(namespace: Namespace, names: Names) -> Names:
    """Return names for a request whose unknown topic IDs need no look-up any more: they are masked.

    Args:
        namespace: of the tenant.
        names: those in its requests.
    """

    def missing(slot: int, value: bytes) -> bytes | None:
        found = names.missing(slot, value)
        if found is None and slot == Entity.TOPIC_ID and not namespace.owns_id(value):
            namespace.take_unresolved()
            return namespace.masked_ids.mask(value)
        return found

    return Names(missing, names)


def _visit_topic_ids(namespace: Namespace, struct: Any, steps: tuple[_Step, ...]) -> None:
    for step in steps:
        value = getattr(struct, step.attribute)
        if value is None:
            continue
        for item in in_steps(value if step.is_array else (value,)):
            if step.inner:
                _visit_topic_ids(namespace, item, step.inner)
            elif step.entity == Entity.TOPIC_ID:
                namespace.physical(Entity.TOPIC_ID, item)
            if len(namespace.unresolved) > FEW_IDS:
                return  # More make no difference.


def to_physical(namespace: Namespace, request: Message, version: int) -> None:
    """Replace every virtual name in a request by its physical one, in place. Its topic IDs must be known."""
    _request_struct(namespace, request, _steps_of(request.SCHEMA.name, version))


def _request_struct(namespace: Namespace, struct: Any, steps: tuple[_Step, ...]) -> None:
    for step in steps:
        value = getattr(struct, step.attribute)
        if value is None:
            continue
        if step.inner:
            for item in in_steps(value if step.is_array else (value,)):
                _request_struct(namespace, item, step.inner)
        elif step.is_array:
            setattr(
                struct, step.attribute, [_physical_value(namespace, step, one) for one in in_steps(value)]
            )
        else:
            setattr(struct, step.attribute, _physical_value(namespace, step, value))


def _physical_value(namespace: Namespace, step: _Step, value: Any) -> Any:
    assert step.entity is not None
    found = namespace.physical(step.entity, value.encode() if step.is_text else value)
    if found is None and step.entity == Entity.TOPIC_ID:
        # `unknown_topic_ids` took it as absent: it was one of many, or that it is absent was forgotten since then.
        namespace.take_unresolved()
        return namespace.masked_ids.mask(value)
    assert found is not None, "every name has a physical form"
    return found.decode() if step.is_text else found


def to_virtual(
    namespace: Namespace, response: Message, version: int, *, knows_former: bool = False
) -> ResponseStep:
    """Replace every physical name in a response by its virtual one, in place, and drop what is not the tenant's.

    It drops the smallest array element, or nullable struct, around a foreign name.

    Args:
        namespace: of the tenant.
        response: what the broker has answered.
        version: of its API.
        knows_former: whether a topic that was moved away since the request keeps its name (`NameUsers.former`).
    Returns:
        TopicIds: these must be looked up first, and the response decoded anew. Close: a foreign name is outside every
        array, where it cannot be left out.
    """
    is_own = _response_struct(namespace, response, _steps_of(response.SCHEMA.name, version), knows_former)
    if namespace.must_look_up():
        return TopicIds(namespace.take_unresolved())
    if not is_own:
        return Close(f"{response.SCHEMA.name} v{version} is not about {namespace.tenant}'s")
    return FORWARD


def _response_struct(namespace: Namespace, struct: Any, steps: tuple[_Step, ...], knows_former: bool) -> bool:
    """Translate one struct; False when it is about something foreign."""
    topic: PhysicalTopic | None = None
    for step in steps:
        value = getattr(struct, step.attribute)
        if value is None:
            continue
        if step.inner and step.is_array:
            kept = [
                item
                for item in in_steps(value)
                if _response_struct(namespace, item, step.inner, knows_former)
            ]
            setattr(struct, step.attribute, kept)
            if len(value) - len(kept) > _MANY:
                let_go(value)
        elif step.inner:
            if not _response_struct(namespace, value, step.inner, knows_former):
                if not step.is_nullable:
                    return False
                setattr(struct, step.attribute, None)
        elif step.is_array:
            translated = (_virtual_value(namespace, step, one, knows_former) for one in in_steps(value))
            setattr(struct, step.attribute, [one for one in translated if one is not None])
        else:
            # An error may carry a name and an ID that a client sent and that do not belong together.
            if step.entity == Entity.TOPIC_ID and topic and not getattr(struct, "error_code", 0):
                namespace.topic_ids.learn(value, topic)
            translated_value = _virtual_value(namespace, step, value, knows_former)
            if translated_value is None:
                return False
            if step.entity == Entity.TOPIC_NAME:
                topic = value.encode()
            setattr(struct, step.attribute, translated_value)
    return True


def _virtual_value(namespace: Namespace, step: _Step, value: Any, knows_former: bool) -> Any:
    assert step.entity is not None
    physical = value.encode() if step.is_text else value
    found = namespace.virtual(step.entity, physical)
    if found is None and knows_former:
        found = namespace.users.former(step.entity, physical, namespace.topic_ids)
    return found.decode() if step.is_text and found is not None else found

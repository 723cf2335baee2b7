"""Resolves what messages name: virtual and physical names, and of a topic whether the client may name it."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass

from bifrost.tenancy.names import PhysicalTopic, VirtualTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.entity import Entity


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A topic; without any name or ID it stands for all topics that found no room."""

    virtual: str | None = None
    physical: str | None = None
    topic_id: str | None = None
    """The topic's ID, if only that is known or the topic is not the client's."""


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A group or a transactional ID; without a name it stands for all of its kind that found no room."""

    entity: Entity
    virtual: str | None = None
    physical: str | None = None


def folded_key(slot: int) -> "TopicKey | AccessKey":
    """Return the key that stands for all entities of a kind that found no room."""
    return AccessKey(Entity(slot)) if slot in OTHERS else TopicKey()


OTHERS = frozenset({Entity.GROUP_ID, Entity.TRANSACTIONAL_ID})
"""What is counted by name beside topics."""

NOT_ALLOWED, RESERVED, FOREIGN_ID = "allowed_topics", "reserved_topic", "foreign_topic_id"
"""Rules by which a client may not name a topic."""


class TopicNames:
    """Resolves the names of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        """Resolve names by `namespace`."""
        self._namespace = namespace

    def access(self, slot: int, name: bytes) -> AccessKey:
        """Return the group or the transactional ID that a request names, with what the engine makes of it."""
        physical = self._namespace.physical(slot, name)
        return AccessKey(Entity(slot), _text(name), None if physical is None else _text(physical))

    def resolve(self, slot: int, name: bytes, *, is_physical: bool) -> tuple[TopicKey, str | None]:
        """Return the topic, and the rule by which the client may not name it; None if it may.

        Args:
            slot: Entity.TOPIC_NAME or Entity.TOPIC_ID.
            name: the name or ID in the message.
            is_physical: whether it is the broker's message.
        """
        if slot == Entity.TOPIC_ID:
            return self._by_id(name, is_physical=is_physical)
        namespace = self._namespace
        if is_physical:
            virtual = namespace.virtual_topic(PhysicalTopic(name))
            return TopicKey(None if virtual is None else _text(virtual), _text(name)), None
        topic = VirtualTopic(name)
        key = TopicKey(_text(topic), _text(namespace.physical_topic(topic)))
        if namespace.names.is_allowed(topic):
            return key, None
        return key, RESERVED if namespace.names.is_dynamic else NOT_ALLOWED

    def _by_id(self, topic_id: bytes, *, is_physical: bool) -> tuple[TopicKey, str | None]:
        namespace = self._namespace
        if is_physical:
            topic_id = namespace.masked_ids.original(topic_id) or topic_id
        physical = namespace.topic_ids.name_of(topic_id)
        if physical is None:
            return TopicKey(topic_id=topic_id_text(topic_id)), None
        virtual = namespace.names.virtual_topic(physical)
        if virtual is not None:
            return TopicKey(_text(virtual), _text(physical)), None
        key = TopicKey(None, _text(physical), topic_id_text(topic_id))
        return key, None if is_physical else FOREIGN_ID


def topic_id_text(topic_id: bytes) -> str:
    """Return a topic ID as Kafka writes it (Uuid.toString)."""
    return urlsafe_b64encode(topic_id).decode().rstrip("=")


def _text(name: bytes) -> str:
    # The decoding is injective, so there are no more names than topics with rows.
    return name.decode("utf-8", "backslashreplace")

"""One tenant's namespace for the engine and the filters: the name of each entity on the other side.

Nothing here refuses. A name that a tenant may not use is given a form that cannot exist on the broker (see names.py for
topics, `MaskedIds` for IDs), so that the broker itself answers, in its own words, that it does not exist; the answers
for a foreign entity and for one that does not exist are then the same in every byte. The broker's data about other
tenants' entities has no virtual form, and the callers that get None drop it.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH
from bifrost.tenancy.bounded_map import BoundedMap
from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.names import (
    PhysicalGroup,
    PhysicalTopic,
    PhysicalTransactionalId,
    TenantNames,
    VirtualGroup,
    VirtualTopic,
    VirtualTransactionalId,
)
from bifrost.tenancy.namespaces.existing_topics import ExistingTopics
from bifrost.tenancy.namespaces.name_users import NameUsers
from bifrost.tenancy.policy import DEFAULT_POLICY, ResourcePolicy
from bifrost.tenancy.pseudonyms import Pseudonyms
from bifrost.tenancy.remembered_names import remember
from bifrost.tenancy.topic_bounds import TopicBounds
from bifrost.tenancy.topic_ids import (
    FEW_IDS,
    LISTED_FOR_MS,
    MAX_MASKED_IDS,
    ZERO_TOPIC_ID,
    AbsentIds,
    MaskedIds,
    TopicIds,
)
from bifrost.tenancy.topic_pages import TopicPages
from bifrost.wire.entity import Entity
from bifrost.wire.fields import entities
from bifrost.wire.rewriting import Names

if TYPE_CHECKING:
    from bifrost.tenancy.policies.namespace_rules import NamespaceRules

MAX_MEMBERS_OF_OTHER_PROTOCOLS = 1000
"""Members remembered of a tenant's groups that are not consumer groups (such as Kafka Connect's workers): a few for
each cluster of them. A member that is forgotten has to join again, if its client is older than Kafka 2.5."""

_REMEMBERED = (Entity.TOPIC_NAME, Entity.GROUP_ID, Entity.TRANSACTIONAL_ID, Entity.TOPIC_ID, Entity.MEMBER_ID)

_LEGAL_TOPIC = re.compile(rf"(?!\.{{1,2}}$)[a-zA-Z0-9._-]{{1,{MAX_TOPIC_NAME_LENGTH}}}")  # as Topic.validate
_NO_TOPICS = ("", ".", "..")
"""Names that are legal behind a prefix, and that no topic of a tenant has, as at a broker."""


class Namespace:
    """The names of one tenant in both directions, with a bounded memory of those in use."""

    at_listeners: dict[BrokerAddresses, Names]
    """The names in answers with the brokers' addresses, which depend on the listener; kept by `answer_names`."""
    rules: "NamespaceRules | None" = None
    """What the policies of the tenant's namespaces say; None: there are none."""
    kept: KeptEntries | None = None
    """What its requests make brokers keep; None: that is not bounded."""

    def __init__(
        self,
        names: TenantNames,
        topic_ids: TopicIds,
        *,
        allow_topic_deletion: bool,
        max_names: int,
        now_ms: Callable[[], int],
        new_id: Callable[[], bytes],
        policy: ResourcePolicy = DEFAULT_POLICY,
        bounds: TopicBounds | None = None,
        pseudonym_key: bytes = b"",
        cluster_id: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Make the namespace of one tenant.

        Args:
            names: the tenant's naming function.
            topic_ids: the index of the physical cluster, shared by all tenants on it.
            allow_topic_deletion: whether this tenant may delete topics.
            max_names: names remembered per kind and direction; beyond it that memory is emptied.
            now_ms: a monotonic clock, in milliseconds.
            new_id: makes 16 random bytes.
            policy: what this tenant may set for its topics and groups.
            bounds: how many topics and partitions it may have, including the namespaces below; None: any number.
            pseudonym_key, cluster_id: see `Pseudonyms`.
        """
        self.names = names
        self.tenant, self.path = names.tenant, names.path
        self.pseudonyms = Pseudonyms(names.path, pseudonym_key, cluster_id)
        self.topic_ids, self.physical_cluster_id = topic_ids, cluster_id
        self.allow_topic_deletion = allow_topic_deletion
        self.policy, self.bounds = policy, bounds
        self._max_names, self.now_ms = max_names, now_ms
        self.masked_ids, self.new_id = MaskedIds(new_id), new_id
        self._absent_ids = AbsentIds(MAX_MASKED_IDS)
        self._listed_until_ms = 0
        self.unresolved: set[bytes] = set()
        """Unknown topic IDs in the message at hand, FEW_IDS + 1 at most; see `take_unresolved`."""
        # Random, so that no tenant can have made a topic that begins with it.
        self._absent_mark = new_id()[-8:].hex() + "."
        self._absent_prefix = names.topics.physical(VirtualTopic(self._absent_mark.encode()))
        self.to_physical = Names(self._asked_by_the_engine)
        self.to_virtual = Names(self._missing_virtual)
        self.members_of_other_protocols: BoundedMap[bytes, bool] = BoundedMap(MAX_MEMBERS_OF_OTHER_PROTOCOLS)
        """Members of groups whose protocol type is not `consumer`; see filters/groups/consumer_protocol.py."""
        self.topic_pages = TopicPages()
        """How to ask the broker's list of topics for this tenant's."""
        self.at_listeners, self.users = {}, NameUsers()
        for direction in (self.to_physical, self.to_virtual):
            for entity in _REMEMBERED:
                direction.tables[entity] = {}
        self.to_physical.tables[Entity.TOPIC_REGEX] = {}
        self.existing = ExistingTopics(names, self.to_physical, now_ms, max_names)
        if bounds is not None:
            bounds.namespaces.add(self)
        self.to_virtual.tables[entities.SLOT_CLUSTER_ID] = {}

    def change(
        self,
        allowed_topics: Iterable[str] | None,
        foreign_marks: Iterable[str],
        *,
        allow_topic_deletion: bool,
        max_names: int,
        policy: ResourcePolicy = DEFAULT_POLICY,
    ) -> None:
        """Change the settings, also for open connections.

        Only for a list that has all the topics of the one before: the names in a fetch session are not checked again.
        """
        self.names.allow(allowed_topics, foreign_marks)
        self.allow_topic_deletion = allow_topic_deletion
        self.policy = policy
        self._max_names = self.existing.most = max_names
        self.forget_names()

    def forget_names(self) -> None:
        """Forget the names in use, on open connections as well: some mean something else now."""
        for direction in (self.to_physical, self.to_virtual):
            for table in direction.tables:
                if table is not None:
                    table.clear()
        self.users.renew()

    def physical(self, entity: int, value: bytes) -> bytes | None:
        """Return the physical form of `value`; None for an ID that must be looked up, or a name that is forbidden."""
        table = self.to_physical.tables[entity]
        known = None if table is None else table.get(value)
        if known is None and entity == Entity.GROUP_ID and not value:
            return self.names.physical_group(VirtualGroup(value))
        return self._missing_physical(entity, value) if known is None else known

    def virtual(self, entity: int, value: bytes) -> bytes | None:
        """Return the virtual form of `value`; None for a foreign entity, or an ID that must be looked up."""
        table = self.to_virtual.tables[entity]
        known = None if table is None else table.get(value)
        return self._missing_virtual(entity, value) if known is None else known

    def virtual_cluster_id(self, physical_cluster_id: str) -> str:
        """Return the cluster ID that this tenant sees: its own, stable, and unlike the physical one."""
        return self.pseudonyms.cluster_id(physical_cluster_id)

    def hides(self, topic: str) -> bool:
        """Whether a topic name is a legal one that does not exist for this tenant, whatever the broker has."""
        is_legal = _LEGAL_TOPIC.fullmatch(topic) is not None
        return is_legal and not self.names.is_allowed(VirtualTopic(topic.encode()))

    def may_exist(self, topic: str) -> bool:
        """Whether there may be a topic of this name: brokers create none of another form, or of a longer name."""
        if topic in _NO_TOPICS:
            return False
        physical = self.names.physical_topic(VirtualTopic(topic.encode()))
        return _LEGAL_TOPIC.fullmatch(physical.decode("utf-8", "replace")) is not None

    def absent_topic(self, topic: str) -> str:
        """Return a virtual name for a hidden topic that is legal on the broker, and that no topic has.

        For requests in which the broker checks the form of a name, so that the denied form would show. Not for requests
        by which a broker creates topics that do not exist.
        """
        return self._absent_mark + topic

    def room_for(self, topic: str) -> int:
        """Return how many bytes a topic's name may have, so that its physical name still fits."""
        physical = self.names.physical_topic(VirtualTopic(topic.encode()))
        return MAX_TOPIC_NAME_LENGTH - (len(physical) - len(topic.encode()))

    def topic_of(self, topic_id: bytes) -> str | None:
        """Return the virtual name of the topic with this ID, None when it is not known to be the tenant's."""
        physical = self.topic_ids.name_of(topic_id)
        virtual = None if physical is None else self.names.virtual_topic(physical)
        return None if virtual is None else virtual.decode()

    def take_unresolved(self) -> frozenset[bytes]:
        """Return the topic IDs that stopped the message at hand, and forget them: call it after every such stop."""
        taken, self.unresolved = frozenset(self.unresolved), set()
        return taken

    def must_look_up(self) -> bool:
        """Whether unknown topic IDs of the message at hand (`unresolved`) must be looked up.

        If not, those that are still unknown are no topics of this tenant.
        """
        if len(self.unresolved) > FEW_IDS and self.was_just_listed:
            self.unresolved.clear()
        return bool(self.unresolved)

    @property
    def was_just_listed(self) -> bool:
        """Whether the index had all topics of this tenant a moment ago."""
        return self.now_ms() < self._listed_until_ms

    def topics_were_listed(self) -> None:
        """Note that the index has all topics of this tenant."""
        self._listed_until_ms = self.now_ms() + LISTED_FOR_MS

    def looked_up(self, topic_ids: Iterable[bytes]) -> None:
        """Note that these IDs were looked up for this tenant: foreign ones count as absent."""
        now_ms = self.now_ms()
        for topic_id in topic_ids:
            if not self.owns_id(topic_id):
                self._absent_ids.learn_absent(topic_id, now_ms)

    def owns_id(self, topic_id: bytes) -> bool:
        """Whether the topic with this ID is known to be one of this tenant's."""
        topic = self.topic_ids.name_of(topic_id)
        return topic is not None and self.owns(topic)

    def owns(self, topic: PhysicalTopic) -> bool:
        """Whether a topic is one of this tenant's, and exists for it."""
        return self.names.virtual_topic(topic) is not None

    def topic_was_deleted(self, topic: PhysicalTopic) -> None:
        """Forget that a topic exists."""
        self.existing.forget(topic)

    def physical_topic(self, topic: VirtualTopic) -> PhysicalTopic:
        """Return what the broker calls a topic, and remember it."""
        found = self.physical(Entity.TOPIC_NAME, topic)
        assert found is not None, "every topic has a physical name"
        return PhysicalTopic(found)

    def virtual_topic(self, topic: PhysicalTopic) -> VirtualTopic | None:
        """Return what the tenant calls a topic, and remember it; None for a foreign topic."""
        found = self.virtual(Entity.TOPIC_NAME, topic)
        return None if found is None else VirtualTopic(found)

    def physical_name(self, topic: str) -> PhysicalTopic:
        """Return what the broker calls a topic of a decoded message, without remembering it."""
        return self.names.physical_topic(VirtualTopic(topic.encode()))

    def confined_regex(self, regex: str) -> str:
        """Return the physical form of a pattern for topics that is not empty, and remember it.

        Raises:
            InvalidRegex: it cannot be confined.
        """
        table = self.to_physical.tables[Entity.TOPIC_REGEX]
        assert table is not None
        known = table.get(regex.encode())
        if known is not None:
            return known.decode()
        confined = self.names.confined_regex(regex)
        remember(self.to_physical, Entity.TOPIC_REGEX, regex.encode(), confined.encode(), self._max_names)
        return confined

    def _asked_by_the_engine(self, slot: int, value: bytes) -> bytes | None:
        """Return None to have the message decoded: a new pattern takes long, and only work on decoded messages pauses.

        None also for what a filter decides about: a topic that the broker may have to create, or of which is not known
        that there is one to fetch; a group that is refused.
        """
        if slot == Entity.GROUP_ID and self._is_refused(value):
            return None
        if slot in (entities.SLOT_NEW_TOPIC, entities.SLOT_FETCHED_TOPIC):
            return None if self.bounds is not None else self._missing_physical(Entity.TOPIC_NAME, value)
        return None if slot == Entity.TOPIC_REGEX and value else self._missing_physical(slot, value)

    def _is_refused(self, group_id: bytes) -> bool:
        return self.rules is not None and self.rules.refuses_group(group_id)

    def _is_absent(self, topic_id: bytes) -> bool:
        """Whether an ID that is not known to be the tenant's is certainly foreign; otherwise it must be looked up.

        Whether another tenant has it must make no difference: the time of an answer would show it.
        """
        if self._absent_ids.is_absent(topic_id, self.now_ms()):
            return True
        if len(self.unresolved) <= FEW_IDS:  # More make no difference: see `must_look_up`.
            self.unresolved.add(topic_id)
        return False

    def _missing_physical(self, slot: int, value: bytes) -> bytes | None:
        match slot:
            case Entity.TOPIC_NAME:
                found: bytes | None = self._physical_topic(VirtualTopic(value))
            case Entity.GROUP_ID:
                # The empty ID must not pass undecoded: where members join, a filter refuses it.
                found = self.names.physical_group(VirtualGroup(value)) if value else None
                if self._is_refused(value):
                    return found  # It is not remembered: the engine asks each time.
            case Entity.TRANSACTIONAL_ID:
                # Kafka refuses the empty ID everywhere; with a prefix it would be an ID like any other.
                found = value and self.names.physical_transactional_id(VirtualTransactionalId(value))
            case Entity.TOPIC_ID:
                found = self._own_or_masked(value)
            case Entity.ERROR_TEXT:
                return value
            case Entity.MEMBER_ID:
                found = self.names.other_member_id(value)
            case Entity.TOPIC_REGEX:
                found = self._confined(value)
            case _:
                raise AssertionError(f"slot {slot} is never looked up")
        return remember(self.to_physical, slot, value, found, self._max_names)

    def _missing_virtual(self, slot: int, value: bytes) -> bytes | None:
        match slot:
            case Entity.TOPIC_NAME:
                # An answer by topic ID about an unknown ID carries an empty name.
                found: bytes | None = value and self._virtual_topic(PhysicalTopic(value))
            case Entity.GROUP_ID:
                found = self.names.virtual_group(PhysicalGroup(value))
            case Entity.TRANSACTIONAL_ID:
                found = value and self.names.virtual_transactional_id(PhysicalTransactionalId(value))
            case Entity.TOPIC_ID:
                found = self._own_or_unmasked(value)
            case Entity.ERROR_TEXT:
                return self.names.virtual_text(value).replace(self._absent_mark.encode(), b"")
            case Entity.MEMBER_ID:
                found = self.names.other_member_id(value)
            case Entity.CLIENT_ID:
                return self.names.virtual_client_id(value)
            case Entity.TOPIC_REGEX:
                regex = self.names.original_regex(value.decode()) if value else ""
                return None if regex is None else regex.encode()
            case entities.SLOT_CLUSTER_ID:
                found = self._cluster_id(value)
            case _:
                raise AssertionError(f"slot {slot} is never looked up")
        return remember(self.to_virtual, slot, value, found, self._max_names)

    def _physical_topic(self, topic: VirtualTopic) -> PhysicalTopic:
        if topic.startswith(self._absent_mark.encode()):
            return self.names.topics.physical(topic)
        return self.names.physical_topic(topic)

    def _virtual_topic(self, topic: PhysicalTopic) -> VirtualTopic | None:
        if topic.startswith(self._absent_prefix):
            return VirtualTopic(topic[len(self._absent_prefix) :])
        return self.names.virtual_topic(topic)

    def _confined(self, regex: bytes) -> bytes | None:
        """Return None when the pattern cannot be confined; the filters then answer. Empty means "no pattern"."""
        try:
            return regex and self.confined_regex(regex.decode()).encode()
        except (InvalidRegex, UnicodeDecodeError):
            return None

    def _cluster_id(self, physical: bytes) -> bytes | None:
        """Return None when it is not a text: the code that decodes the answer refuses it."""
        try:
            return physical and self.virtual_cluster_id(physical.decode()).encode()
        except UnicodeDecodeError:
            return None

    def _own_or_masked(self, topic_id: bytes) -> bytes | None:
        if topic_id == ZERO_TOPIC_ID or self.owns_id(topic_id):
            return topic_id
        return self.masked_ids.mask(topic_id) if self._is_absent(topic_id) else None

    def _own_or_unmasked(self, topic_id: bytes) -> bytes | None:
        """Return an ID in an answer: the tenant's own, or one that it sent and that was masked; None drops others."""
        if topic_id == ZERO_TOPIC_ID or self.owns_id(topic_id):
            return topic_id
        original = self.masked_ids.original(topic_id)
        if original is None and self.topic_ids.name_of(topic_id) is None:
            self._is_absent(topic_id)
        return original

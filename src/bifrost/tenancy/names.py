"""Virtual and physical names of one tenant: a pure, injective, reversible mapping.

    virtual           physical                 when
    orders            __vt_acme_orders         the topic exists for the tenant, or its namespace is dynamic
    users             __vt_acme_/users         it does not: the denied form
    (empty)           __vt_acme_/              the same; so do . and .., which only the prefix would make legal
    /x                __vt_acme_//x            the same: no topic can be called that
    a group ID, id    __vt_acme_id             always; so is a transactional ID
    a client ID, id   __vt_acme_id             where client IDs are namespaced; otherwise it stays as it is
    eu:orders         __vt_acme_--eu.orders    the namespace eu exists (`namespaces.relative_names`); so with group IDs
    partner           __vt_globex_orders       the topic was moved or is shared so (`namespaces.aliased_names`)

The denied form has a character that no topic has, so the broker itself answers as for a name that is not a topic. The
reverse direction gives None for names that are not the tenant's: another tenant's, an internal one, one off its list.

Names are bytes, as on the wire. This module keeps no state; the engine's table of names caches its results.
`config.checks.clashes` refuses names that could collide. KIP-37 has the idea.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NewType

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.fields.state import STATE_TOPIC
from bifrost.config.fields.virtual_partitions import PARTITION_INDEX_TOPIC
from bifrost.config.name_template import (
    DEFAULT_MARK,
    INTERNAL_MARK,
    INTERNAL_TOPICS,
    NamePrefixes,
    NameTemplate,
)
from bifrost.config.quotas.quota_exchange import QUOTA_EXCHANGE_TOPIC
from bifrost.config.tiers import CODES, SEPARATOR
from bifrost.tenancy.error_texts import ErrorTexts
from bifrost.tenancy.member_ids import other_side
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.namespaces.relative_regex import relative_regex
from bifrost.tenancy.ownership import OwnNames
from bifrost.tenancy.topic_regex import confine, original
from bifrost.wire.entity import Entity
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.namespaces.alias_table import Access
    from bifrost.tenancy.namespaces.aliased_names import AliasedNames
    from bifrost.tenancy.namespaces.topic_aliases import TenantAliases

VirtualTopic = NewType("VirtualTopic", bytes)
"""A topic as the tenant calls it, in UTF-8."""

PhysicalTopic = NewType("PhysicalTopic", bytes)
"""A topic as the physical cluster calls it, or a denied form, in UTF-8."""

VirtualGroup = NewType("VirtualGroup", bytes)
"""A group ID as the tenant calls it, in UTF-8."""

PhysicalGroup = NewType("PhysicalGroup", bytes)
"""A group ID as the physical cluster calls it, in UTF-8."""

VirtualTransactionalId = NewType("VirtualTransactionalId", bytes)
"""A transactional ID as the tenant calls it, in UTF-8."""

PhysicalTransactionalId = NewType("PhysicalTransactionalId", bytes)
"""A transactional ID as the physical cluster calls it, in UTF-8."""

_DENIED_MARK = b"/"
_NEVER_LEGAL = frozenset({b".", b".."})
"""Names that Topic.validate refuses, but that are legal with a prefix."""
_OWN_TOPICS = (JOURNAL_TOPIC, STATE_TOPIC, QUOTA_EXCHANGE_TOPIC, PARTITION_INDEX_TOPIC)
_OF_NO_TENANT = frozenset(PhysicalTopic(one.encode()) for one in (*_OWN_TOPICS, *INTERNAL_TOPICS))
"""Topics of the gateway and of Kafka itself, which no tenant ever sees."""


class TenantNames:
    """The names of one tenant, in both directions.

    Args:
        tenant: the tenant's name.
        allowed_topics: the topics that exist for it; None for a dynamic namespace, in which every name exists.
        prefixes: the prefixes of its physical names; None for those of the default template.
        tiers: the namespace below the tenant that has these names; empty for all of the tenant's names.
        namespaces: the tiers of all namespaces below the tenant that exist, as long as it exists (see
            `RelativeNames`); None: tiers are dotted (see `NamePrefixes.below`), and the names of namespaces below have
            no form of their own.
        separator: what stands between the tiers and a name (see `RelativeNames`).
        namespaces_client_ids: whether brokers see the tenant's client IDs with the prefix of its groups.
        aliases: moved and shared topics by tenant, which change with the state (`TopicAliases.parts`).
        sees_shared: whether it may see topics that other owners share: not where nothing asks `access`.
        foreign_marks: what texts about other tenants would contain: all prefixes, or their common start, but its own.
    """

    __slots__ = (
        "_above",
        "_aliased",
        "_allowed",
        "_first_prefix",
        "_internal",
        "_own",
        "_relative",
        "_reserved",
        "_sees_shared",
        "_texts",
        "aliases",
        "client_id_prefix",
        "groups",
        "path",
        "separator",
        "tenant",
        "tiers",
        "topics",
        "transactional_ids",
    )

    tenant: str
    _aliased: "AliasedNames | None"
    path: str
    """The namespace: the tenant and the tiers below it, with `:` between (KIP-37)."""
    tiers: tuple[str, ...]
    separator: str
    topics: OwnNames[VirtualTopic, PhysicalTopic]
    """The physical topics that the namespace owns, whether the tenant may see them or not."""
    groups: OwnNames[VirtualGroup, PhysicalGroup]
    transactional_ids: OwnNames[VirtualTransactionalId, PhysicalTransactionalId]
    client_id_prefix: bytes | None
    """The prefix that the broker sees before the namespace's client IDs, None when it sees them unchanged."""

    def __init__(
        self,
        tenant: str,
        allowed_topics: Iterable[str] | None = None,
        *,
        prefixes: NamePrefixes | None = None,
        tiers: Sequence[str] = (),
        namespaces: AbstractSet[tuple[str, ...]] | None = frozenset(),
        separator: str = SEPARATOR,
        namespaces_client_ids: bool = False,
        aliases: "Mapping[str, TenantAliases] | None" = None,
        sees_shared: bool = False,
        foreign_marks: Iterable[str] = (DEFAULT_MARK,),
    ) -> None:
        root = prefixes or NamePrefixes.of_tenant(tenant, NameTemplate())
        own = root.below(tiers, is_dotted=namespaces is None)
        self.tenant, self.tiers, self.separator = tenant, tuple(tiers), separator
        self.path = SEPARATOR.join((tenant, *tiers))
        self._relative = RelativeNames(tiers, namespaces, separator) if namespaces is not None else None
        self.aliases, self._aliased, self._sees_shared = {} if aliases is None else aliases, None, sees_shared
        self._own = _own_names(own)
        self.topics = self._own[Entity.TOPIC_NAME]
        self.groups = self._own[Entity.GROUP_ID]
        self.transactional_ids = self._own[Entity.TRANSACTIONAL_ID]
        self.client_id_prefix = own.group.encode() if namespaces_client_ids else None
        # A literal prefix may be the start of these.
        self._reserved = frozenset(self.topics.virtual(topic) for topic in _OF_NO_TENANT)
        # A tenant owns the names with its prefix only if the prefix is longer than the mark of internal topics.
        self._internal = self.topics.virtual(PhysicalTopic(INTERNAL_MARK.encode()))
        shared = {names.shared_prefix for names in self._own.values()}
        self._texts = ErrorTexts(self.denied(VirtualTopic(b"")), shared, self._relative)
        self._first_prefix = root.topic.encode()
        self._above = {root.topic, root.group, root.transactional_id} if tiers else set()
        self.allow(allowed_topics, foreign_marks)

    def allow(self, allowed_topics: Iterable[str] | None, foreign_marks: Iterable[str]) -> None:
        """Replace the list of the tenant's topics, and the marks of foreign ones; see the class."""
        self._texts.mark(frozenset(foreign_marks).union(self._above) if self._above else foreign_marks)
        self._allowed = (
            None
            if allowed_topics is None
            else frozenset(
                VirtualTopic(name.encode())
                for topic in allowed_topics
                if (name := self._relative_to_here(topic)) is not None
            )
        )

    def _relative_to_here(self, topic: str) -> str | None:
        """Return what a topic of the configuration's list is called here; None when it is of another namespace."""
        if self._relative is None:
            below = "".join(f"{tier}." for tier in self.tiers)
            return topic.removeprefix(below) if topic.startswith(below) else None
        *tiers, name = topic.split(SEPARATOR)
        depth = len(self.tiers)
        if tuple(tiers[:depth]) != self.tiers:
            return None
        return self.separator.join([*tiers[depth:], name])

    def has_namespace(self, tiers: tuple[str, ...]) -> bool:
        """Whether clients may use a namespace below the tenant; any one without dots where tiers are dotted."""
        if self._relative is None:
            return not any("." in tier for tier in tiers)
        return self._relative.exists(tiers)

    @property
    def is_dotted(self) -> bool:
        """Whether tiers are dotted; see `NamePrefixes.below`."""
        return self._relative is None

    def full_name(self, name: str) -> str:
        """Return what a topic, group or transactional ID is called in ACLs: by the path from the tenant, with `:`."""
        if self._relative is None:
            return "".join(f"{tier}." for tier in self.tiers) + name
        tiers, rest = self._relative.split(name.encode())
        return SEPARATOR.join([*self.tiers, *tiers, rest.decode()])

    def tiers_of(self, name: str) -> tuple[str, ...]:
        """Return the tiers of the namespace that a name is in; () for the tenant's own, and where tiers are dotted."""
        return () if self._relative is None else self.place_of(name.encode())[0][1:]

    def place_of(self, name: bytes) -> tuple[tuple[str, ...], bytes]:
        """Return the path of the namespace that a topic or group is of, from the tenant on, and its name there."""
        path = (self.tenant, *self.tiers)
        if self._relative is None:
            return path, name
        tiers, rest = self._relative.split(name)
        return (*path, *tiers), rest

    def path_of(self, topic: PhysicalTopic) -> tuple[str, ...] | None:
        """Return the path of the tenant's namespace that a physical topic is of; None when it is of another tenant."""
        if not topic.startswith(self._first_prefix):
            return None
        tail = topic[len(self._first_prefix) :]
        return (self.tenant, *(() if self._relative is None else self._relative.tiers_behind(tail)))

    def own_names(self, entity: Entity) -> OwnNames[Any, Any]:
        """Return the physical names that the namespace owns of a kind: topics, groups or transactional IDs."""
        return self._own[entity]

    def is_named_by(self, prefixes: NamePrefixes) -> bool:
        """Whether these prefixes give the namespace the names that it has."""
        return self._own == _own_names(prefixes)

    @property
    def is_dynamic(self) -> bool:
        """Whether any topic name is the tenant's own."""
        return self._allowed is None

    @property
    def allowed_topics(self) -> frozenset[VirtualTopic] | None:
        """The topics that exist for the tenant, None when any name does."""
        if self._allowed is None or (aliases := self._aliases) is None:
            return self._allowed
        moved = (VirtualTopic(name) for name in aliases.visible.values())
        return frozenset(name for name in self._allowed if self.is_allowed(name)).union(moved)

    @property
    def configured_topics(self) -> frozenset[VirtualTopic] | None:
        """The topics of the configuration's list, None when it has none."""
        return self._allowed

    @property
    def moved_topics(self) -> Mapping[bytes, bytes]:
        """The names of all moved and shared topics that can be seen, by their physical names."""
        return {} if (aliases := self._aliases) is None else aliases.visible

    @property
    def topics_elsewhere(self) -> list[PhysicalTopic]:
        """The topics that the tenant may see though their names do not begin with `topics.shared_prefix`, in order."""
        return sorted(one for one in map(PhysicalTopic, self.moved_topics) if not self.topics.owns(one))

    def access(self, topic: str) -> "Access | None":
        """Return what may be done with a topic by its virtual name; None: all that the tenant may."""
        return None if (aliases := self._aliases) is None else aliases.access(topic.encode())

    @property
    def _aliases(self) -> "AliasedNames | None":
        """The moved and shared topics; None: the tenant has none."""
        part = self.aliases.get(self.tenant) if self.aliases else None
        if part is None:
            return None
        # Only where topics were moved or shared, for the memory it takes.
        from bifrost.tenancy.namespaces.aliased_names import AliasedNames

        if self._aliased is None or not self._aliased.is_of(part):
            self._aliased = AliasedNames(
                self.tenant, self.tiers, self._relative, part, sees_shared=self._sees_shared
            )
        return self._aliased

    def is_allowed(self, topic: VirtualTopic) -> bool:
        """Whether the topic exists or may exist for the tenant; not whether the broker has it."""
        aliases = self._aliases
        if aliases is not None and (aliased := aliases.physical(topic)) is not None:
            return bool(aliased)
        if topic in self._reserved or topic in _NEVER_LEGAL:
            return False
        if self._internal is not None and topic.startswith(self._internal):
            return False
        if self._allowed is not None and topic not in self._allowed:
            return False
        own = topic if self._relative is None else self._relative.split(topic)[1]
        # With the mark in front it would look like the denied form of another name; it is not legal anyway.
        return bool(own) and not own.startswith(_DENIED_MARK) and own not in _NEVER_LEGAL

    def denied(self, topic: VirtualTopic) -> PhysicalTopic:
        """Return the physical name under which this topic can never exist."""
        return self.topics.physical(VirtualTopic(_DENIED_MARK + topic))

    def physical_topic(self, topic: VirtualTopic) -> PhysicalTopic:
        """Return the topic's physical name; the denied form when it is not the tenant's."""
        if (aliases := self._aliases) is not None and (aliased := aliases.physical(topic)):
            return PhysicalTopic(aliased)
        return self.plain_topic(topic) if self.is_allowed(topic) else self.denied(topic)

    def virtual_topic(self, topic: PhysicalTopic) -> VirtualTopic | None:
        """Return the topic's virtual name, also from a denied form; None when it is foreign to the tenant.

        Exactly the results of `physical_topic` have a virtual name, so a topic that the tenant owns but that is not in
        its list is also foreign.
        """
        aliases = self._aliases
        if aliases is not None and (aliased := aliases.virtual(topic)) is not None:
            return VirtualTopic(aliased) if aliased else None
        tail = self.topics.virtual(topic)
        if tail is None:
            return None
        if tail.startswith(_DENIED_MARK):
            denied = VirtualTopic(tail[len(_DENIED_MARK) :])
            return None if self.is_allowed(denied) else denied
        name = VirtualTopic(found) if (found := self._name(tail)) is not None else None
        return name if name is not None and self.is_allowed(name) else None

    def plain_topic(self, topic: bytes) -> PhysicalTopic:
        """Return the physical name that a topic has unless it was moved or is shared."""
        return self.topics.physical(VirtualTopic(self._tail(topic)))

    def _tail(self, name: bytes) -> bytes:
        """Return what stands behind the prefix for a name of any kind."""
        return name if self._relative is None else self._relative.physical(name)

    def _name(self, tail: bytes | None) -> bytes | None:
        """Return the name for what stands behind the prefix; None when it has none."""
        return tail if self._relative is None or tail is None else self._relative.virtual(tail)

    def physical_group(self, group_id: VirtualGroup) -> PhysicalGroup:
        """Return the group's physical ID; every group ID, also the empty one, is the tenant's own."""
        return self.groups.physical(VirtualGroup(self._tail(group_id)))

    def virtual_group(self, group_id: PhysicalGroup) -> VirtualGroup | None:
        """Return the group's virtual ID, None when it is foreign to the tenant."""
        name = self._name(self.groups.virtual(group_id))
        return None if name is None else VirtualGroup(name)

    def physical_transactional_id(self, transactional_id: VirtualTransactionalId) -> PhysicalTransactionalId:
        """Return the physical transactional ID."""
        return self.transactional_ids.physical(VirtualTransactionalId(self._tail(transactional_id)))

    def virtual_transactional_id(
        self, transactional_id: PhysicalTransactionalId
    ) -> VirtualTransactionalId | None:
        """Return the virtual transactional ID, None when it is foreign to the tenant."""
        name = self._name(self.transactional_ids.virtual(transactional_id))
        return None if name is None else VirtualTransactionalId(name)

    def other_member_id(self, member_id: bytes) -> bytes:
        """Return a group member's ID on the other side; see `member_ids`."""
        return member_id if self.client_id_prefix is None else other_side(member_id, self.client_id_prefix)

    def virtual_client_id(self, client_id: bytes) -> bytes:
        """Return the virtual ID of a client in the tenant's groups; an ID without the prefix stays.

        A client of a namespace below has the prefix of that, of which nothing is shown either.
        """
        prefix = self.client_id_prefix
        if prefix is None or not client_id.startswith(prefix):
            return client_id
        own = client_id[len(prefix) :]
        codes = None if self._relative is None else CODES.match(own)
        return own if codes is None else own[codes.end() :]

    def confined_regex(self, regex: str, entity: Entity = Entity.TOPIC_NAME) -> str:
        """Return the pattern by which the broker finds the tenant's matches, within the namespace only.

        Topics match only if they exist for the tenant: with a list, the topics of the list that the pattern matches.

        Raises:
            InvalidRegex: the pattern does not parse, or cannot be confined.
        """
        prefix = self._own[entity].shared_prefix.decode()
        if entity == Entity.TOPIC_NAME and self._allowed is not None:
            every = in_steps(self._allowed)
            listed = [one.decode() for one in every if self.physical_topic(one) == self.plain_topic(one)]
            return confine(regex, prefix, listed, tail_of=lambda name: self._tail(name.encode()).decode())
        return relative_regex(regex, prefix, self._relative, is_of_topics=entity == Entity.TOPIC_NAME)

    def original_regex(self, physical_regex: str) -> str | None:
        """Return the pattern as the tenant wrote it, None when it is not the tenant's."""
        return original(physical_regex, self.topics.shared_prefix.decode())

    def virtual_text(self, text: bytes) -> bytes:
        """Return an error text of the broker as the tenant reads it; see `ErrorTexts`."""
        return self._texts.virtual(text)


def _own_names(prefixes: NamePrefixes) -> dict[Entity, OwnNames[Any, Any]]:
    return {
        Entity.TOPIC_NAME: OwnNames(prefixes.topic.encode()),
        Entity.GROUP_ID: OwnNames(prefixes.group.encode()),
        Entity.TRANSACTIONAL_ID: OwnNames(prefixes.transactional_id.encode()),
    }

"""How the physical name of a tenant's entity is built: the template, and when two tenants' names can collide.

Only the template is here, because the loader must refuse tenants whose names overlap; the mapping itself is in
`bifrost.tenancy.names`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bifrost.config.tiers import encode

DEFAULT_TEMPLATE = "__vt_{tenant}_{name}"

DEFAULT_MARK = DEFAULT_TEMPLATE.partition("{tenant}")[0]
"""The start of every physical name that the default template makes."""

INTERNAL_MARK = "__"
"""The start of internal topics: Kafka's own, and by custom those of tools beside it (MirrorMaker, Cruise Control,
operators)."""

INTERNAL_TOPICS = (
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
    "__cluster_metadata",
    "__remote_log_metadata",
)
"""Kafka's own topics. Source: org.apache.kafka.common.internals.Topic, TopicBasedRemoteLogMetadataManagerConfig."""

MAX_TOPIC_NAME_LENGTH = 249
"""The longest topic name that a broker accepts, in characters (all ASCII, so also in bytes).

Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH (255 of a file name less "-" and the
partition and suffix).
"""

MAX_TENANT_NAME_LENGTH = 64
"""The longest tenant name, in characters: 179 of a topic's 249 remain for the tenant's own part."""


@dataclass(frozen=True, slots=True)
class NameTemplate:
    """A physical name as `text` with `{tenant}` filled in and `{name}` at the very end.

    The text before `{name}` is the tenant's prefix; a name is mapped by prepending it and mapped back by removing it,
    so the mapping of one tenant is injective for every name. Between tenants it is injective while no tenant's prefix
    is a prefix of another's (see `fold`).

    Raises:
        ValueError: the text does not have that form.
    """

    text: str = DEFAULT_TEMPLATE

    def __post_init__(self) -> None:
        if not self.text.endswith("{name}") or self.text.count("{name}") != 1:
            raise ValueError("a name template ends in {name} and has it once")
        if self.text.count("{tenant}") != 1:
            raise ValueError("a name template has {tenant} once")

    def prefix(self, tenant: str) -> str:
        """Return the prefix of every physical name of `tenant`."""
        return self.text.removesuffix("{name}").replace("{tenant}", tenant)


@dataclass(frozen=True, slots=True)
class NamePrefixes:
    """The prefixes of the physical names of one namespace, by kind."""

    topic: str
    group: str
    transactional_id: str

    @classmethod
    def of_tenant(cls, tenant: str, template: NameTemplate) -> "NamePrefixes":
        """Return the prefixes that the template gives a tenant: one for all kinds."""
        prefix = template.prefix(tenant)
        return cls(prefix, prefix, prefix)

    def below(self, tiers: Sequence[str], *, is_dotted: bool = False) -> "NamePrefixes":
        """Return the prefixes of a namespace below this one (see `tiers`).

        No name of another namespace begins with them, but for those below it.

        Args:
            tiers: the namespace.
            is_dotted: whether its tiers come before the names as in versions before namespaces had a tree: each
                followed by a dot, so that the names also are some of the namespace above. A tier has no dot then.
        """
        path = "".join(f"{tier}." for tier in tiers) if is_dotted else encode(tiers)
        return NamePrefixes(self.topic + path, self.group + path, self.transactional_id + path)


def fold(name: str) -> str:
    """Return `name` as Kafka compares it when it looks for colliding topics: `.` and `_` are one character.

    A broker refuses to create `a.b` beside `a_b`, so two tenants whose names are equal once folded would
    learn of each other's topics. Source: org.apache.kafka.common.internals.Topic.unifyCollisionChars (metric
    names).
    """
    return name.replace(".", "_")

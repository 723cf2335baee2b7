"""How the physical name of a tenant's entity is built: the template, and when two tenants' names can meet.

Only the template stands here, because the loader must refuse tenants whose names overlap; the mapping itself
is `bifrost.tenancy.names`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_TEMPLATE = "__vt_{tenant}_{name}"

DEFAULT_MARK = DEFAULT_TEMPLATE.partition("{tenant}")[0]
"""What every physical name made by the default template begins with."""

INTERNAL_MARK = "__"
"""What internal topics begin with: Kafka's, and by custom those of what runs beside it (MirrorMaker, Cruise Control,
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
"""The longest topic name a broker takes, in characters (all ASCII, so bytes as well).

Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH (255 of a file name less "-" and the
partition and suffix).
"""

MAX_TENANT_NAME_LENGTH = 64
"""The longest tenant name, in characters: 179 of a topic's 249 remain for the tenant's own part."""


@dataclass(frozen=True, slots=True)
class NameTemplate:
    """A physical name as `text` with `{tenant}` filled in and `{name}` at the very end.

    What precedes `{name}` is the tenant's prefix; a name is mapped by prepending it and mapped back by
    removing it, so the mapping of one tenant is injective whatever the name. Between tenants it is so while
    no tenant's prefix is a prefix of another's (see `fold`).

    Raises:
        ValueError: the text is not of that shape.
    """

    text: str = DEFAULT_TEMPLATE

    def __post_init__(self) -> None:
        if not self.text.endswith("{name}") or self.text.count("{name}") != 1:
            raise ValueError("a name template ends in {name} and has it once")
        if self.text.count("{tenant}") != 1:
            raise ValueError("a name template has {tenant} once")

    def prefix(self, tenant: str) -> str:
        """Return what stands before every physical name of `tenant`."""
        return self.text.removesuffix("{name}").replace("{tenant}", tenant)


@dataclass(frozen=True, slots=True)
class NamePrefixes:
    """What the physical names of one namespace begin with, by kind."""

    topic: str
    group: str
    transactional_id: str

    @classmethod
    def of_tenant(cls, tenant: str, template: NameTemplate) -> "NamePrefixes":
        """Return the prefixes that the template gives a tenant: one for all kinds."""
        prefix = template.prefix(tenant)
        return cls(prefix, prefix, prefix)

    def below(self, tiers: Sequence[str]) -> "NamePrefixes":
        """Return the prefixes of a namespace below: its tiers come before the names, each with a dot behind it.

        A tier has no dot in it, so no two namespaces share a prefix; and one's names are names of those above.
        """
        path = "".join(f"{tier}." for tier in tiers)
        return NamePrefixes(self.topic + path, self.group + path, self.transactional_id + path)


def fold(name: str) -> str:
    """Return `name` as Kafka sees it when it looks for colliding topics: `.` and `_` are one character.

    A broker refuses to create `a.b` beside `a_b`, so two tenants whose names are equal once folded would
    learn of each other's topics. Source: org.apache.kafka.common.internals.Topic.unifyCollisionChars (metric
    names).
    """
    return name.replace(".", "_")

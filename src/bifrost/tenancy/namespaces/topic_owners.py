"""Which topics a tenant owns, with those that were moved to it, and without those that were moved away.

`TenantNames` says which it may see and as what; a topic that is shared with a tenant is another's.
"""

from bifrost.tenancy.names import PhysicalTopic, TenantNames


def owns_topic(names: TenantNames, topic: PhysicalTopic) -> bool:
    """Whether the tenant of `names`, its whole namespace, owns a topic and may see it."""
    part = names.aliases.get(names.tenant)
    owner = None if part is None else part.owner_of(topic)
    if owner is not None:
        return owner.namespace[0] == names.tenant
    return names.topics.owns(topic) and names.virtual_topic(topic) is not None


def topics_moved_in(names: TenantNames) -> list[PhysicalTopic]:
    """Return the topics that the tenant owns though another tenant has created them, in order."""
    part = names.aliases.get(names.tenant)
    return [] if part is None else sorted(map(PhysicalTopic, part.moved_in()))

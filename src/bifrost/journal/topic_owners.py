"""Finds the tenant that owns a physical topic, among all tenants on one physical cluster, as texts for the journal."""

from collections.abc import Iterable

from bifrost.tenancy.names import PhysicalTopic, TenantNames
from bifrost.tenancy.ownership import NameOwners


class TopicOwners:
    """The names of all tenants on a physical cluster."""

    def __init__(self, names: Iterable[TenantNames] = ()) -> None:
        """Begin with the names of these tenants."""
        self._owners: NameOwners[TenantNames] = NameOwners()
        self._by_tenant: dict[str, TenantNames] = {}
        for one in names:
            self.add(one)

    def add(self, names: TenantNames) -> None:
        """Add the names of a tenant itself, not those of a namespace below it."""
        self._owners.add(names.topics, names)
        self._by_tenant[names.tenant] = names

    def of(self, physical_topic: str) -> tuple[str, str] | None:
        """Return the topic's tenant and virtual name; None when it is no tenant's, or does not exist for its owner."""
        topic = PhysicalTopic(physical_topic.encode())
        names = self._owners.owner_of(topic)
        part = None if names is None else names.aliases.get(names.tenant)
        if part is not None and topic in part.owners:
            names = self._by_tenant.get(part.owners[topic].namespace[0])
        virtual = None if names is None else names.virtual_topic(topic)
        if names is None or virtual is None:
            return None
        return names.tenant, virtual.decode("utf-8", "backslashreplace")


def owner_marks(names: TenantNames) -> dict[str, str]:
    """Return what the journal tells its readers of a tenant, so that they find the owner of a physical name."""
    return {
        "topic_prefix": names.topics.shared_prefix.decode(),
        "group_prefix": names.groups.shared_prefix.decode(),
        "transactional_id_prefix": names.transactional_ids.shared_prefix.decode(),
    }

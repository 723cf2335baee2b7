"""Finds the tenant that owns a physical topic, among all tenants on one physical cluster."""

from collections.abc import Iterable

from bifrost.tenancy.names import PhysicalTopic, TenantNames


class TopicOwners:
    """The names of all tenants; no tenant's prefix begins another's, so at most one owns a topic."""

    def __init__(self, names: Iterable[TenantNames]) -> None:
        """Take the names of the tenants themselves, not those of namespaces below them."""
        self._by_prefix = {one.prefix: one for one in names}
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def of(self, physical_topic: str) -> tuple[str, str] | None:
        """Return the topic's tenant and virtual name; None when no tenant owns it."""
        raw = physical_topic.encode()
        for length in self._lengths:
            names = self._by_prefix.get(raw[:length])
            virtual = None if names is None else names.virtual_topic(PhysicalTopic(raw))
            if names is not None and virtual is not None:
                return names.tenant, virtual.decode("utf-8", "backslashreplace")
        return None

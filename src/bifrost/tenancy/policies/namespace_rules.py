"""What the policies of namespaces say about the topics and groups that one namespace's clients name."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bifrost.tenancy.names import TenantNames, VirtualTopic
from bifrost.tenancy.policies.namespace_budgets import NamespaceBudgets
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.ruling import Ruling, Violation
from bifrost.tenancy.policy import DELETE, SET, Refusal
from bifrost.tenancy.topic_bounds import Growth
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs
from bifrost.tenancy.topic_configs.namespace_defaults import NamespaceDefaults

if TYPE_CHECKING:
    from bifrost.tenancy.policies.record_rules import RecordRules


class NamespaceRules:
    """The policies, asked with the names that the clients of a namespace use."""

    __slots__ = ("_hits", "_names", "_policies", "defaults")

    def __init__(
        self,
        names: TenantNames,
        policies: NamespacePolicies,
        hits: Counter[tuple[str, str]],
        configs: NamespaceConfigs | None = None,
    ) -> None:
        """Ask about names of `names`.

        Args:
            names: those of the namespace.
            policies: of all namespaces.
            hits: counts refusals by key and tenant.
            configs: those that topics inherit; None: there can be none.
        """
        self.defaults = None if configs is None else NamespaceDefaults(names, configs)
        self._names, self._policies, self._hits = names, policies, hits

    def refuse_topic_name(self, name: str) -> Refusal | None:
        """Return why a topic may not be created under this name, None when it may."""
        chain, own = self._of(name)
        return self._first(one.refuse_topic_name(own) for one in chain)

    def refuses_group(self, group_id: bytes) -> bool:
        """Whether a group may not have this ID."""
        return self._group_violation(group_id) is not None

    def refuse_group(self, group_id: str) -> Refusal | None:
        """Return why a group may not have this ID, None when it may."""
        return self._first([self._group_violation(group_id.encode())])

    def refuse_partitions(self, topic: str, count: int, *, is_new: bool) -> Refusal | None:
        """Return why a topic may not have so many partitions, None when it may."""
        chain, _ = self._of(topic)
        return self._first(one.refuse_partitions(count, is_new=is_new) for one in chain)

    def refuse_replicas(self, topic: str, factor: int) -> Refusal | None:
        """Return why a new topic may not have so many replicas, None when it may."""
        chain, _ = self._of(topic)
        return self._first(one.refuse_replicas(factor) for one in chain)

    def refuse_config(self, topic: str, name: str, value: str | None, operation: int = SET) -> Refusal | None:
        """Return why a topic's config may not have this value, None when it may.

        Args:
            topic: its name.
            name: of the config.
            value: None: none of its own, for which a new topic gets the one that is forced.
            operation: as in `AlterConfigOp.OpType`.
        """
        chain, _ = self._of(topic)
        forced = next((one for one in chain if name in one.forced), None)
        if forced is not None:
            # The value is the operator's: what policies below say about it does not count.
            if operation == SET:
                if value is None or _is_same(value, forced.forced[name]):
                    return None
                shown = value
            else:
                shown = "no value of its own" if operation == DELETE else "a change of the list"
            return self._first([forced.refuse_forced(name, shown)])
        return self._first(one.refuse_config(name, value, operation) for one in chain)

    def forced(self, topic: str) -> dict[str, str]:
        """Return the configs that a topic has in any case."""
        chain, _ = self._of(topic)
        found: dict[str, str] = {}
        for one in chain:
            found = {**one.forced, **found}
        return found

    def on_records(self, topic: str) -> "RecordRules | None":
        """Return what holds for records that are produced to a topic; None: nothing.

        Of a topic that is shared within the tenant, the policies of its owner hold as well.
        """
        paths = [self._names.place_of(topic.encode())[0]]
        part = self._names.aliases.get(self._names.tenant)
        if part is not None:
            physical = self._names.physical_topic(VirtualTopic(topic.encode()))
            paths += [one.place.namespace for one in part.standings.get(physical, ()) if one.access is None]
        found = {one: None for path in paths for one in self._policies.chain(path)}
        about = [one for one in found if one.policy.is_about_records]
        if not about:
            return None
        from bifrost.tenancy.policies.record_rules import RecordRules  # memory, only where there are some

        return RecordRules(about, self._hits, self._names.tenant)

    def budgets(self, growth: Growth) -> NamespaceBudgets:
        """Return what judges how much a request adds to each namespace."""
        return NamespaceBudgets(self._names, self._policies, self._hits, growth.existing)

    def _group_violation(self, group_id: bytes) -> Violation | None:
        path, own = self._names.place_of(group_id)
        chain = self._policies.chain(path)
        if not chain:
            return None
        name = own.decode("utf-8", "replace")
        return next((found for one in chain if (found := one.refuse_group_name(name)) is not None), None)

    def _of(self, topic: str) -> tuple[tuple[Ruling, ...], str]:
        path, own = self._names.place_of(topic.encode())
        return self._policies.chain(path), own.decode()

    def _first(self, violations: Iterable[Violation | None]) -> Refusal | None:
        for one in violations:
            if one is not None:
                self._hits[one.key, self._names.tenant] += 1
                return one.refusal
        return None


def _is_same(value: str, forced: str) -> bool:
    """Whether a value is the forced one, also written otherwise; a broker reads numbers with signs and spaces."""
    if value.strip().lower() == forced.lower():
        return True
    try:
        return float(value) == float(forced)
    except ValueError:
        return False

"""How many topics and partitions namespaces may have: judged for each item of a request that adds some.

Which topics exist is known from the list that the tenant's bounds have (`tenancy.topic_bounds`), so nothing further is
asked of the brokers. The sum of a namespace is made once for each request, when its policy has a bound.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from bifrost.tenancy.names import PhysicalTopic, TenantNames
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.ruling import Ruling
from bifrost.tenancy.policy import Refusal
from bifrost.wire.steps import in_steps


class NamespaceBudgets:
    """What one request adds to the namespaces of a tenant."""

    def __init__(
        self,
        names: TenantNames,
        policies: NamespacePolicies,
        hits: Counter[tuple[str, str]],
        existing: Callable[[], Mapping[PhysicalTopic, int]],
    ) -> None:
        """Add nothing yet.

        Args:
            names: of a namespace of the tenant.
            policies: of all namespaces.
            hits: counts refusals by key and tenant.
            existing: returns the partitions of each of the tenant's topics, before the request.
        """
        self._names, self._policies, self._hits, self._existing = names, policies, hits, existing
        self._sums: dict[tuple[str, ...], tuple[int, int]] = {}

    def add(self, topic: PhysicalTopic, before: int, wanted: int) -> Refusal | None:
        """Let a topic have so many partitions, 0 before if it is new; return why it may not, and add nothing then."""
        path = self._path(topic)
        bounded = [
            one
            for one in (() if path is None else self._policies.chain(path))
            if one.policy.max_topics is not None or one.policy.max_partitions is not None
        ]
        more_topics, more = int(not before), wanted - before
        for one in bounded:
            violation = one.refuse_growth(*self._sum(one), more_topics, more)
            if violation is not None:
                self._hits[violation.key, self._names.tenant] += 1
                return violation.refusal
        for shared in {one.path for one in bounded}:
            topics, partitions = self._sums[shared]
            self._sums[shared] = topics + more_topics, partitions + more
        return None

    def _path(self, topic: PhysicalTopic) -> tuple[str, ...] | None:
        """Return the path of the tenant's namespace that owns a topic; None when another tenant owns it."""
        tenant = self._names.tenant
        part = self._names.aliases.get(tenant)
        owner = None if part is None else part.owner_of(topic)
        if owner is None:
            return self._names.path_of(topic)
        return owner.namespace if owner.namespace[0] == tenant else None

    def _sum(self, ruling: Ruling) -> tuple[int, int]:
        found = self._sums.get(ruling.path)
        if found is None:
            topics = partitions = 0
            depth = len(ruling.path)
            for name, count in in_steps(self._existing().items()):
                path = self._path(name)
                if count and path is not None and path[:depth] == ruling.path:
                    topics, partitions = topics + 1, partitions + count
            found = self._sums[ruling.path] = topics, partitions
        return found

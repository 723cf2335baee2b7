"""The policies of namespaces, as `bifrost control` sees and changes them.

Before a policy is stored, the topics that do not keep to it are looked for, so that the admin learns of them: they stay
as they are, but a request that touches what is wrong is refused from then on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bifrost.config.model import Config
from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.control.backend import Backend, Unavailable
from bifrost.control.namespaces import Namespaces
from bifrost.state.state_change import Change, StateConflict, Unchanged
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, shown
from bifrost.tenancy.namespaces.namespace_tree import key_of
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.policies_of_tenants import policies_of
from bifrost.tenancy.policies.policy_check import FoundTopic, violations
from bifrost.tenancy.policies.policy_record import policy_body, policy_key, read_body
from bifrost.tenancy.policies.ruling import Ruling, Violation

ATTEMPTS = 5
"""How often a change is decided anew after another writer was first."""


@dataclass(frozen=True, slots=True)
class PolicyOf:
    """The policies of one namespace."""

    configured: NamespacePolicy | None
    """That of the configuration."""
    stored: NamespacePolicy | None
    """That of the state."""
    record: StateRecord | None


class Policies:
    """The policies of all namespaces."""

    def __init__(self, config: Config, backend: Backend, namespaces: Namespaces) -> None:
        """Read them from the configuration and the state.

        Args:
            config: the configuration with the tenants.
            backend: the state and the clusters.
            namespaces: those that exist, and their topics.
        """
        self._backend, self._namespaces = backend, namespaces
        self._configured = policies_of(config.tenants)

    def of(self, path: Path) -> PolicyOf:
        """Return the policies of a namespace.

        Raises:
            InvalidNamespace: it does not exist.
            Unavailable: its record cannot be understood.
        """
        self._namespaces.tree.check(path)
        record = self._backend.table.get(policy_key(path))
        try:
            stored = None if record is None or record.body is None else read_body(record.body)
        except ValueError as error:
            raise Unavailable(f"{policy_key(path)}: {error}") from None
        return PolicyOf(self._configured.get(path), stored, record)

    def above(self, path: Path) -> NamespacePolicies:
        """Return the policies that hold in a namespace: its own, and those of the namespaces above it.

        Raises:
            InvalidNamespace, Unavailable: as `of`.
        """
        found = NamespacePolicies()
        configured: dict[tuple[str, ...], NamespacePolicy] = {}
        for length in range(1, len(path) + 1):
            above = Path(path[:length])
            one = self.of(above)
            if one.configured is not None:
                configured[above] = one.configured
            if one.record is not None:
                found.apply(one.record.key, one.record)
        found.configure(configured)
        return found

    async def check(self, path: Path, policy: NamespacePolicy) -> list[tuple[str, Violation]]:
        """Return which topics do not keep to a policy, by their names with their namespaces.

        Raises:
            InvalidNamespace: the namespace does not exist.
            Unavailable: the cluster does not answer.
        """
        topics = await self._topics(path)
        return list(violations(Ruling(path, policy), topics))

    async def set(
        self, path: Path, policy: NamespacePolicy | None, on_behalf_of: str, *, expected: int | None = None
    ) -> None:
        """Store the policy of a namespace, in place of the one that is stored.

        Args:
            path: the namespace.
            policy: None: there is none any more.
            on_behalf_of: who asks for it.
            expected: the version of its record that the caller has seen; None: any.
        Raises:
            InvalidNamespace: it does not exist.
            StateConflict: it has another version, or other writers were first each time. And the other errors of
                `Backend.change`.
        """
        key, table = policy_key(path), self._backend.table
        for attempt in range(ATTEMPTS):
            self._namespaces.tree.check(path)
            record, namespace = table.get(key), table.get(key_of(path))
            version = 0 if record is None else record.version
            if expected is not None and expected != version:
                raise StateConflict(key, expected, record)
            if policy is None and record is None:
                return
            body = None if policy is None else policy_body(policy)
            unchanged = [] if namespace is None else [Unchanged(namespace.key, namespace.version)]
            try:
                await self._backend.change([Change(key, version, body)], on_behalf_of, unchanged)
                return
            except StateConflict:
                if namespace is not None and table.get(namespace.key) is None:
                    raise InvalidNamespace(f"namespace {shown(path)} does not exist") from None
                if attempt + 1 == ATTEMPTS or expected is not None:
                    raise

    async def _topics(self, path: Path) -> Sequence[FoundTopic]:
        paths = [path, *self._namespaces.tree.nested(path)]
        known = await self._namespaces.topics_owned_in(paths)
        found = await self._backend.describe_topics(path[0], list(known))
        return [
            FoundTopic(known[name], one.partitions, one.replication_factor, one.configs)
            for name, one in sorted(found.items())
        ]

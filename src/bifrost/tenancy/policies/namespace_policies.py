"""The policies of all namespaces: those of the configuration, and those of the state, which it follows.

A namespace may have one of each; then both hold. It is a `StateModel` of the kind `namespace-policy`.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.policies.policy_record import read_body, read_key
from bifrost.tenancy.policies.ruling import Ruling

Policies = Mapping[tuple[str, ...], NamespacePolicy]
"""By the path of a namespace, from its tenant on."""

MAX_CHAINS = 10_000
"""Namespaces whose rulings are remembered; beyond it that memory is emptied. One takes some 100 bytes."""


class NamespacePolicies:
    """The policies of a process."""

    def __init__(self) -> None:
        """Begin without policies."""
        self.changed: Callable[[str], None] = lambda _tenant: None
        """Is told each tenant whose policies have changed."""
        self._configured: dict[tuple[str, ...], Ruling] = {}
        self._stored: dict[tuple[str, ...], Ruling] = {}
        self._chains: dict[tuple[str, ...], tuple[Ruling, ...]] = {}
        self._about_records: Counter[str] = Counter()
        """How many policies of a tenant are about records."""

    def __len__(self) -> int:
        """Return the number of policies."""
        return len(self._configured) + len(self._stored)

    def configure(self, policies: Policies) -> None:
        """Take the policies of the configuration in place of those before."""
        before = self._configured
        if before.keys() == policies.keys() and all(
            before[path].policy == policy for path, policy in policies.items()
        ):
            return
        self._configured = {path: Ruling(path, policy) for path, policy in policies.items()}
        for ruling in before.values():
            self._count(ruling, -1)
        for ruling in self._configured.values():
            self._count(ruling, 1)
        self._chains.clear()
        now = self._configured
        for tenant in sorted(
            {
                path[0]
                for path in before.keys() | now.keys()
                if path not in before or path not in now or before[path].policy != now[path].policy
            }
        ):
            self.changed(tenant)

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what is stored for a namespace.

        Raises:
            ValueError: it cannot be understood.
        """
        path = read_key(key)
        ruling = None if record is None or record.body is None else Ruling(path, read_body(record.body))
        before = self._stored.pop(path, None)
        if before is not None:
            self._count(before, -1)
        if ruling is not None:
            self._stored[path] = ruling
            self._count(ruling, 1)
        self._chains.clear()
        self.changed(path[0])

    def has_record_rules(self, tenant: str) -> bool:
        """Whether a policy of a tenant, or of a namespace below it, is about records that are produced."""
        return self._about_records[tenant] > 0

    def chain(self, path: tuple[str, ...]) -> tuple[Ruling, ...]:
        """Return the rulings that hold in a namespace: from its tenant's down to its own."""
        found = self._chains.get(path)
        if found is None:
            found = tuple(
                ruling
                for length in range(1, len(path) + 1)
                for of in (self._configured, self._stored)
                if (ruling := of.get(path[:length])) is not None
            )
            if len(self._chains) >= MAX_CHAINS:
                self._chains.clear()
            self._chains[path] = found
        return found

    def _count(self, ruling: Ruling, change: int) -> None:
        if ruling.policy.is_about_records:
            self._about_records[ruling.path[0]] += change

"""Puts changes of namespaces' policies in the state into force, on open connections as well."""

from typing import ClassVar

from bifrost.gateway.reload.context import ReloadContext
from bifrost.gateway.reload.displaced import Displaced
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.policies.policy_record import KIND


class PolicyChanges:
    """The `StateModel` of a running gateway's policies."""

    kind: ClassVar[str] = KIND

    def __init__(self, gateway: ReloadContext) -> None:
        """Change the policies of `gateway`."""
        self._gateway = gateway
        self._displaced = Displaced(gateway, "policies")

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a namespace's policy.

        Raises:
            ValueError: the record cannot be understood.
        """
        clusters = self._gateway.shared.virtual_clusters
        assert clusters.policies is not None, "a gateway with a state has them"
        clusters.policies.apply(key, record)
        if clusters.has_displaced:
            clusters.has_displaced = False
            self._displaced.look()

"""The models of the state that change what a running gateway does with its clients."""

from collections.abc import Callable, Iterable

from bifrost.gateway.reload.alias_changes import AliasChanges
from bifrost.gateway.reload.context import ReloadContext
from bifrost.gateway.reload.namespace_changes import NamespaceChanges
from bifrost.gateway.reload.policy_changes import PolicyChanges
from bifrost.gateway.reload.user_changes import UserChanges
from bifrost.gateway.state.gateway_state import GatewayState


def follow_stored(
    state: GatewayState,
    gateway: ReloadContext,
    note_aliases: Callable[[Iterable[str]], None] | None = None,
) -> None:
    """Let a gateway follow the state's namespaces, users, policies and moved topics; before the state is read.

    `note_aliases` is told the tenants for which the last have changed.
    """
    namespaces, users = NamespaceChanges(gateway), UserChanges(gateway)
    aliases, policies = AliasChanges(gateway, note_aliases), PolicyChanges(gateway)
    state.follow(namespaces.kind, namespaces)
    state.follow(users.kind, users)
    state.follow(aliases.kind, aliases)
    state.follow(policies.kind, policies)

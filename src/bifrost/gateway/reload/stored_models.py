"""The models of the state that change what a running gateway does with its clients."""

from bifrost.gateway.reload.context import ReloadContext
from bifrost.gateway.reload.namespace_changes import NamespaceChanges
from bifrost.gateway.reload.user_changes import UserChanges
from bifrost.gateway.state.gateway_state import GatewayState


def follow_stored(state: GatewayState, gateway: ReloadContext) -> None:
    """Let a gateway follow the state's namespaces and users; before the state is read."""
    namespaces, users = NamespaceChanges(gateway), UserChanges(gateway)
    state.follow(namespaces.kind, namespaces)
    state.follow(users.kind, users)

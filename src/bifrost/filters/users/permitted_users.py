"""Lets requests about users through to the filters that answer them, where the tenant may have users.

All other requests go on to the filter that refuses them. The modules are loaded by the first request: most gateways
never get one, and a module takes memory.
"""

from bifrost.filters.filter import Exchange
from bifrost.filters.loaded_later import LoadedLater
from bifrost.filters.steps import FORWARD, RequestStep
from bifrost.tenancy.acls.acl_binding import Operation
from bifrost.wire.message import Message


class PermittedUsers(LoadedLater):
    """A filter of requests about users, which stands for one of a module that is not loaded yet."""

    def __init__(self, operation: Operation, module: str, name: str) -> None:
        """Stand for the filter class `name` of `module`, which is in this package.

        Args:
            operation: what the client needs on the tenant's cluster, if the tenant has ACLs.
            module: the name of the module.
            name: the name of the class.
        """
        super().__init__(f"{__package__}.{module}", name)
        self._operation = operation

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Let the filter decide, if the client may ask it."""
        users, guard = exchange.scope.users, exchange.scope.guard
        if users is None or users.allowance(exchange.scope.namespace.tenant) is None:
            return FORWARD
        if guard is not None and not guard.may_cluster(self._operation):
            guard.deny(self._operation)
            return FORWARD
        return super().on_request(exchange, request)

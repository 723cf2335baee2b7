"""The rights in a tenant without ACLs with which topics are shared: all, but for those topics.

The rights of a share are in the namespace's names, and `Guard` looks there; so clients of such a tenant need guards.
"""

from typing import ClassVar

from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.acl_index import EVERY_OPERATION
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls


class OpenAuthority(Authority):
    """Permits everything."""

    is_open = True
    mode: ClassVar[str | None] = None

    def __init__(self, tenant: str, stored: StoredAcls) -> None:
        """Have no ACLs, also none of the shared state; count denials as `stored` does."""
        super().__init__(tenant, StoredAcls())
        self._denials = stored.denials

    def permitted(self, resource_type: ResourceType, name: str, principal: str, host: str) -> int:
        """Return the operations that a principal may do with a resource, a bit for each."""
        return EVERY_OPERATION

    def permits_some(
        self, operation: Operation, resource_type: ResourceType, principal: str, host: str
    ) -> bool:
        """Whether a principal may do something with any resource of a kind."""
        return True

    def permits_all(
        self, operation: Operation, resource_type: ResourceType, principal: str, host: str
    ) -> bool:
        """Whether a principal may do something with every resource of a kind, whatever it is called."""
        return True

    def is_super_user(self, principal: str) -> bool:
        """Whether a principal may do everything."""
        return True

"""What may change of a tenant's ACLs in the state, for every way to ask for it: Kafka's requests and the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.state.state_change import Change
from bifrost.tenancy.acls.stored_acls import key_of

if TYPE_CHECKING:
    from bifrost.state.state_table import StateTable
    from bifrost.tenancy.acls.acl_binding import AclBinding
    from bifrost.tenancy.acls.authority import Authority

MAX_CHANGED = 1000
"""Most ACLs that one request creates or deletes: they are written in one transaction, which others wait for."""

MAX_TOLD = 10 * MAX_CHANGED
"""Most ACLs in the answer to a request that deletes: filters may mean the same ones."""

MAX_COMPARED = 100_000
"""Most comparisons of a filter and an ACL for one request, some 0.4 s of work: a request of 1 MiB has room for 100,000
filters. One that leaves nothing open is a single comparison."""

CONFIGURED = "The ACL is in the gateway's configuration, and only its operator can remove it."
TOO_MANY = f"A request changes at most {MAX_CHANGED} ACLs."
TOO_MUCH_WORK = (
    "The filters of the request mean too many ACLs, or leave too much open: send them in several requests."
)


def refuse_creation(authority: Authority, planned: int) -> str | None:
    """Return why no further ACL is created; None: it may be.

    Args:
        authority: the ACLs of the tenant.
        planned: how many the same request creates already.
    """
    if authority.stored + planned >= authority.max_stored:
        return f"A tenant may have at most {authority.max_stored} ACLs."
    return TOO_MANY if planned >= MAX_CHANGED else None


def deletion_of(state: StateTable, tenant: str, binding: AclBinding) -> Change | None:
    """Return the change that deletes an ACL of a tenant; None: the state does not have it."""
    record = state.get(key_of(tenant, binding))
    return None if record is None else Change(record.key, record.version, None)

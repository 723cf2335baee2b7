"""What the state has of a namespace beside its own record: quotas, policies, ACLs and users, which end with it.

A new namespace of the same name must not begin with what was set for the one before it. So a deletion takes these
records in the same transaction, decided while no other writer can commit (`Backend.change`): no interruption leaves
half of it, and nothing that is set meanwhile escapes it.

An ACL is a namespace's when its name begins with the namespace's path. One about more, such as the prefix `e` or `*`,
is the tenant's, and stays. ACLs and quotas in the configuration are changed there.
"""

import contextlib
from collections.abc import Collection, Iterator

from bifrost.config.tiers import SEPARATOR
from bifrost.state.state_change import Change
from bifrost.state.state_table import StateTable
from bifrost.tenancy.acls.stored_acls import KIND as ACL
from bifrost.tenancy.acls.stored_acls import read_body
from bifrost.tenancy.namespaces.namespace_path import Path, is_within, shown
from bifrost.tenancy.policies.policy_record import policy_key
from bifrost.tenancy.quotas.quota_record import QUOTA
from bifrost.tenancy.topic_configs.config_records import TOPIC_KIND, namespace_key
from bifrost.tenancy.users.stored_user import KIND as USER
from bifrost.tenancy.users.stored_user import read_user

DOTTED = "."
"""What stands behind each tier in ACLs of a tenant with dotted tiers."""


def deletions(table: StateTable, paths: Collection[Path], *, is_dotted: bool = False) -> Iterator[Change]:
    """Yield the changes that delete what the state has of namespaces, beside their own records.

    Args:
        table: the state, read to its end.
        paths: the namespaces, below tenants.
        is_dotted: whether ACLs name their tiers with dots.
    """
    yield from quota_deletions(table, paths)
    yield from policy_deletions(table, paths)
    yield from user_deletions(table, paths)
    separator = DOTTED if is_dotted else SEPARATOR
    highest = [one for one in paths if not any(one != above and is_within(one, above) for above in paths)]
    starts = {
        tenant: tuple(
            "".join(f"{tier}{separator}" for tier in one[1:]) for one in highest if one[0] == tenant
        )
        for tenant in {one[0] for one in highest}
    }
    for record in table.of_kind(ACL):
        start = starts.get(record.key.name.rpartition(":")[0])
        if start is None:
            continue
        # One that cannot be understood says nothing of a namespace; gateways are not ready because of it.
        with contextlib.suppress(ValueError):
            if read_body(record.body or {}).name.startswith(start):
                yield Change(record.key, record.version, None)


def policy_deletions(table: StateTable, paths: Collection[Path]) -> Iterator[Change]:
    """Yield the changes that delete the policies and configs which the state has of namespaces."""
    for path in paths:
        for key in (policy_key(path), namespace_key(path)):
            record = table.get(key)
            if record is not None and record.body is not None:
                yield Change(record.key, record.version, None)
    names = {shown(one) for one in paths}
    for record in table.of_kind(TOPIC_KIND):
        if record.key.name.partition("/")[0] in names:
            yield Change(record.key, record.version, None)


def user_deletions(table: StateTable, paths: Collection[Path]) -> Iterator[Change]:
    """Yield the changes that delete the users which are bound to namespaces."""
    bound = set(paths)
    for record in table.of_kind(USER):
        # One that cannot be understood is bound to no namespace; gateways are not ready because of it.
        with contextlib.suppress(ValueError):
            user = read_user(record.key, record.body or {})
            if (user.tenant, *user.tiers) in bound:
                yield Change(record.key, record.version, None)


def quota_deletions(table: StateTable, paths: Collection[Path]) -> Iterator[Change]:
    """Yield the changes that delete the quotas which the state has of namespaces."""
    names = {shown(one) for one in paths}
    for record in table.of_kind(QUOTA):
        if record.key.name.partition("/")[0] in names:
            yield Change(record.key, record.version, None)

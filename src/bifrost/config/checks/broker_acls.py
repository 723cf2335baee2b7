"""Check tenants whose ACLs the brokers keep (`acls.mode: broker`): each of their users has an account to itself.

Such an ACL is about an account at the brokers. One that another tenant, another user or the gateway has as well would
give them the rights, and a user without an account would come with one that may do more.
"""

from collections.abc import Iterator

from bifrost.config.loc import Loc, Tree

MAX_ACCOUNTS = 100
"""Users of such a tenant: DescribeAcls asks the brokers once for each."""


def broker_acl_misfits(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield what is wrong with the accounts of these tenants."""
    for tenant in tree.indexes("tenants"):
        if tree.text("tenants", tenant, "acls", "mode") == "broker":
            yield from _misfits(tree, tenant)


def _misfits(tree: Tree, tenant: int) -> Iterator[tuple[Loc, str]]:
    auth: Loc = ("tenants", tenant, "auth")
    users: Loc = (*auth, "credentials")
    for key in ("principals", "stored_users"):
        if tree.get(*auth, key):
            text = "users without an account of their own at the brokers are not for acls.mode: broker"
            yield (*auth, key), f"{key}: {text}"
    if len(tree.indexes(*users)) > MAX_ACCOUNTS:
        yield users, f"at most {MAX_ACCOUNTS} users with acls.mode: broker"
    taken = dict(_accounts(tree))
    for index in tree.indexes(*users):
        at: Loc = (*users, index)
        account: Loc = (*at, "upstream_sasl", "username")
        name = tree.text(*account)
        if name is None:
            yield (
                at,
                "needs an upstream_sasl with a username: acls.mode: broker is about accounts at the brokers",
            )
            continue
        other = next((loc for loc, one in taken.items() if one == name and loc != account), None)
        if other is not None:
            shown = ".".join(str(step) for step in other)
            yield account, f"the account {name} is that of {shown} too, which would have the same ACLs"


def _accounts(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield the accounts of the gateway, of tenants and of users, with their places."""
    places: list[Loc] = [
        ("upstream", "sasl"),
        *(("upstreams", one, "sasl") for one in tree.indexes("upstreams")),
    ]
    for tenant in tree.indexes("tenants"):
        at: Loc = ("tenants", tenant)
        users: Loc = (*at, "auth", "credentials")
        places.append((*at, "upstream_sasl"))
        places += [(*users, index, "upstream_sasl") for index in tree.indexes(*users)]
    for place in places:
        loc: Loc = (*place, "username")
        name = tree.text(*loc)
        if name is not None:
            yield loc, name

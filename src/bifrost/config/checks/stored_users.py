"""Check the users that tenants make: each name has one tenant, and there is a state to store them in."""

from collections.abc import Iterator

from bifrost.config.loc import Loc, Tree


def stored_user_misfits(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield what is wrong with the prefixes of the names of these users. `clashes.py` reports the places."""
    prefixes: dict[int, str] = {}
    for index in tree.indexes("tenants"):
        section: Loc = ("tenants", index, "auth", "stored_users")
        if tree.get(*section) is not None and tree.get("proxy", "state") is None:
            yield (
                section,
                f"tenants[{index}].auth.stored_users are stored in proxy.state: write state: {{}} to have one",
            )
        prefix = tree.text(*section, "name_prefix")
        if prefix:
            prefixes[index] = prefix
    for index, prefix in prefixes.items():
        at: Loc = ("tenants", index, "auth", "stored_users", "name_prefix")
        for other, text in prefixes.items():
            if other < index and (text.startswith(prefix) or prefix.startswith(text)):
                yield (
                    at,
                    f"{prefix} and the prefix {text} of tenants[{other}] overlap: a user name decides the tenant",
                )
        for other in tree.indexes("tenants"):
            name = _name_with(tree, other, prefix) if other != index else None
            if name is not None:
                yield at, f"{prefix}: the user {name} of tenants[{other}] begins so: choose another prefix"


def _name_with(tree: Tree, tenant: int, prefix: str) -> str | None:
    auth: Loc = ("tenants", tenant, "auth")
    users = (
        tree.text(*auth, "credentials", index, "username") for index in tree.indexes(*auth, "credentials")
    )
    principals = (tree.text(*auth, "principals", index) for index in tree.indexes(*auth, "principals"))
    named = (*users, *principals)
    return next((one for one in named if one is not None and one.startswith(prefix)), None)

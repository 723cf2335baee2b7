"""Check that tenants' names can be part of the host names of a listener set with `sni`; `clashes.py` calls it."""

from collections.abc import Collection, Iterator, Mapping

from bifrost.config.fields.server_names import TENANT, ServerNames, Wanted, is_label
from bifrost.config.loc import Loc, Tree


def sni_misfits(tree: Tree) -> Iterator[tuple[Loc, str, Loc | None]]:
    """Yield each name that clients could not reach or would confuse with another, the reason, and that other's place.

    The place is that of the tenant, or that of its name in a list of `sni.tenants`.
    """
    sets: Loc = ("proxy", "listener_sets")
    names = [tree.text("tenants", index, "name") for index in tree.indexes("tenants")]
    for index in tree.indexes(*sets):
        at: Loc = (*sets, index, "sni")
        section = tree.get(*at)
        has_list = isinstance(section, Mapping) and section.get("tenants") is not None
        listed = {name for name, _ in _listed(tree, (*at, "tenants"))} if has_list else None
        yield from _list_misfits(tree, (*at, "tenants"), names)
        bootstrap, broker = tree.text(*at, "bootstrap_host"), tree.text(*at, "broker_host")
        if bootstrap is not None and broker is not None and TENANT in bootstrap and TENANT in broker:
            yield from _tenant_misfits(tree, ServerNames(bootstrap, broker, 1), bootstrap, listed)


def _listed(tree: Tree, at: Loc) -> Iterator[tuple[str, Loc]]:
    """Yield each name of a list, and its place."""
    for index in tree.indexes(*at):
        name = tree.text(*at, index)
        if name is not None:
            yield name, (*at, index)


def _list_misfits(
    tree: Tree, at: Loc, names: Collection[str | None]
) -> Iterator[tuple[Loc, str, Loc | None]]:
    """Yield the places in a list whose name is no tenant's, or stands there twice."""
    known = {name for name in names if name is not None}
    first: dict[str, Loc] = {}
    for name, loc in _listed(tree, at):
        if name in first:
            yield loc, f"tenant {name} is listed twice: remove one", first[name]
        elif name not in known and None not in names:
            some = ", ".join(sorted(known)[:10])
            yield loc, f"there is no tenant {name}: write some of {some}, or add it to tenants", None
        first.setdefault(name, loc)


def _tenant_misfits(
    tree: Tree, names: ServerNames, pattern: str, listed: Collection[str] | None
) -> Iterator[tuple[Loc, str, Loc | None]]:
    """Yield the tenants whose names do not fit in a pattern: of those that are listed, or of all without a list."""
    seen: dict[str, tuple[str, Loc]] = {}
    for index in tree.indexes("tenants"):
        name = tree.text("tenants", index, "name")
        if name is None or (listed is not None and name not in listed):
            continue
        at: Loc = ("tenants", index, "name")
        first, first_at = seen.setdefault(name.lower(), (name, at))
        if not is_label(name):
            text = f"tenant {name} cannot stand in {pattern}: only 63 letters, digits and inner hyphens can"
            yield at, text, None
        elif name != first:
            text = f"tenant {name} differs from another by capitals alone, which hosts ({pattern}) ignore"
            yield at, f"{text}: rename one", first_at
        elif names.wanted(names.host_for(name)) != Wanted(None, name.lower()):
            yield (
                at,
                f"tenant {name} in {pattern} is the host of a broker as well: rename one of the two",
                None,
            )

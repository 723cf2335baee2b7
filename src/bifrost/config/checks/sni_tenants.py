"""Check that tenants' names can be part of the host names of a listener set with `sni`; `clashes.py` calls it."""

from collections.abc import Iterator

from bifrost.config.fields.server_names import TENANT, ServerNames, Wanted, is_label
from bifrost.config.loc import Loc, Tree


def sni_misfits(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield the place of each tenant that clients could not reach or would confuse with another, and the reason."""
    sets: Loc = ("proxy", "listener_sets")
    for index in tree.indexes(*sets):
        at: Loc = (*sets, index, "sni")
        bootstrap, broker = tree.text(*at, "bootstrap_host"), tree.text(*at, "broker_host")
        if bootstrap is not None and broker is not None and TENANT in bootstrap and TENANT in broker:
            yield from _tenant_misfits(tree, ServerNames(bootstrap, broker, 1), bootstrap)


def _tenant_misfits(tree: Tree, names: ServerNames, pattern: str) -> Iterator[tuple[Loc, str]]:
    seen: set[str] = set()
    for index in tree.indexes("tenants"):
        name = tree.text("tenants", index, "name")
        if name is None:
            continue
        at: Loc = ("tenants", index, "name")
        if not is_label(name):
            text = f"tenant {name} cannot stand in {pattern}: only 63 letters, digits and inner hyphens can"
            yield at, text
        elif name.lower() in seen:
            yield at, f"tenant {name} differs from another by capitals alone, which hosts ({pattern}) ignore"
        elif names.wanted(names.host_for(name)) != Wanted(None, name.lower()):
            yield at, f"tenant {name} in {pattern} is the host of a broker as well: rename one of the two"
        seen.add(name.lower())

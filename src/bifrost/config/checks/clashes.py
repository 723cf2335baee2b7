"""Checks that need more than one field: ports, names and users that conflict with each other.

They work on plain mappings and lists, not on the model, so that they find what they can in a file that has other
mistakes as well: they skip a value that is absent or malformed (`bad`); the step that found it reports it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bifrost.config.checks.broker_acls import broker_acl_misfits
from bifrost.config.checks.internal_prefixes import prefix_misfits
from bifrost.config.checks.own_topics import own_topic_misfits
from bifrost.config.checks.port_clashes import port_misfits
from bifrost.config.checks.sni_tenants import sni_misfits
from bifrost.config.checks.stored_users import stored_user_misfits
from bifrost.config.checks.upstream_security import security_misfits
from bifrost.config.fields.upstream import DEFAULT_UPSTREAM
from bifrost.config.loc import Loc
from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH, NameTemplate, fold
from bifrost.config.tiers import SEPARATOR, encode


@dataclass(frozen=True, slots=True)
class Clash:
    """Two values that exclude each other, or one value that is not allowed at all."""

    loc: Loc
    """The place of the later value."""

    text: str
    """What is wrong and how to correct it."""

    first: Loc | None = None
    """The place of the earlier value."""


def find_clashes(data: object, bad: Collection[Loc] = ()) -> list[Clash]:
    """Find all values that conflict with others.

    Args:
        data: the configuration as mappings and sequences, keys as in the file.
        bad: places already known to be wrong; the checks ignore them.
    """
    tree = _Tree(data, bad)
    sets: Loc = ("proxy", "listener_sets")
    return [
        *(Clash(loc, text, first) for loc, text, first in port_misfits(tree)),
        *_repeated(tree, [(*sets, index, "name") for index in tree.indexes(*sets)]),
        *_unknown_tenants(tree),
        *(Clash(loc, text, first) for loc, text, first in sni_misfits(tree)),
        *_upstream_clashes(tree),
        *sorted(_tenant_clashes(tree), key=lambda clash: clash.loc[1]),
        *(Clash(loc, text) for loc, text in prefix_misfits(tree)),
        *_unreachable_tenants(tree),
        *_topic_clashes(tree),
        *_repeated(tree, list(_username_locs(tree)), why="the name decides the tenant"),
        *(Clash(loc, text) for loc, text in stored_user_misfits(tree)),
        *(Clash(loc, text) for loc, text in broker_acl_misfits(tree)),
        *(Clash(loc, text) for loc, text in security_misfits(tree)),
        *(Clash(loc, text) for loc, text in own_topic_misfits(tree, DEFAULT_UPSTREAM)),
    ]


class _Tree:
    """Reads values of the expected type, and None for anything else."""

    def __init__(self, data: object, bad: Collection[Loc]) -> None:
        self._data = data
        self._bad = bad

    def get(self, *loc: str | int) -> object:
        value = self._data
        for depth, step in enumerate(loc, 1):
            if loc[:depth] in self._bad:
                return None
            if isinstance(step, str):
                value = value.get(step) if isinstance(value, Mapping) else None
            elif isinstance(value, Sequence) and not isinstance(value, str) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    def is_bad(self, *loc: str | int) -> bool:
        """Whether this place, or what it is in, is known to be wrong."""
        return any(loc[:depth] in self._bad for depth in range(1, len(loc) + 1))

    def text(self, *loc: str | int) -> str | None:
        value = self.get(*loc)
        return value if isinstance(value, str) else None

    def number(self, *loc: str | int) -> int | None:
        value = self.get(*loc)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def indexes(self, *loc: str | int) -> range:
        value = self.get(*loc)
        return range(len(value)) if isinstance(value, Sequence) and not isinstance(value, str) else range(0)


def _unknown_tenants(tree: _Tree) -> Iterator[Clash]:
    """Report listener sets whose tenant does not exist, unless some tenant's name could not be read."""
    names = [tree.text("tenants", index, "name") for index in tree.indexes("tenants")]
    known = {name for name in names if name is not None}
    if not known or None in names:
        return
    for index in tree.indexes("proxy", "listener_sets"):
        at: Loc = ("proxy", "listener_sets", index, "tenant")
        name = tree.text(*at)
        if name is not None and name not in known:
            some = ", ".join(sorted(known)[:10])
            yield Clash(at, f"there is no tenant {name}: write one of {some}, or add it to tenants")


def _upstream_clashes(tree: _Tree) -> Iterator[Clash]:
    """Report every tenant that does not have exactly one physical cluster, and why."""
    has_one, has_several = tree.get("upstream") is not None, tree.get("upstreams") is not None
    if has_one and has_several:
        yield Clash(
            ("upstreams",), "both upstream and upstreams: move the first into the list", ("upstream",)
        )
        return
    if not has_one and not has_several:
        return
    locs: list[Loc] = [("upstreams", index, "name") for index in tree.indexes("upstreams")]
    yield from _repeated(tree, locs)
    named = locs if has_several else [("upstream", "name")]
    known = [tree.text(*loc) or DEFAULT_UPSTREAM for loc in named]
    for index in tree.indexes("tenants"):
        at: Loc = ("tenants", index, "upstream")
        name = tree.text(*at)
        if name is None and len(known) > 1 and not tree.is_bad(*at):
            text = (
                f"tenants[{index}].upstream is missing, and there are several: name one of {', '.join(known)}"
            )
            yield Clash(at, text)
        if name is not None and name not in known:
            yield Clash(
                at, f"tenants[{index}].upstream: no upstream is called {name}; there is {', '.join(known)}"
            )


_KINDS_OF_NAMES = ("topic", "group", "transactional_id")


def _tenant_clashes(tree: _Tree) -> Iterator[Clash]:
    """Report each tenant whose prefix overlaps that of an earlier tenant on the same physical cluster, once."""
    first: dict[str | None, int] = {}
    clusters = _clusters(tree)
    by_cluster: dict[str | int | None, list[int]] = {}
    for index in tree.indexes("tenants"):
        name = tree.text("tenants", index, "name")
        if first.setdefault(name, index) == index or name is None:
            upstream = tree.text("tenants", index, "upstream")
            by_cluster.setdefault(clusters.get(upstream, upstream), []).append(index)
        else:
            text = f"tenant {name} is given twice: rename one or merge the two"
            yield Clash(("tenants", index, "name"), text, ("tenants", first[name], "name"))
    for indexes in by_cluster.values():
        clashes: dict[int, tuple[int, str]] = {}
        for kind in _KINDS_OF_NAMES:
            for later, earlier in _overlaps({one: _prefix(tree, one, kind) for one in indexes}).items():
                if later not in clashes or earlier < clashes[later][0]:
                    clashes[later] = (earlier, kind)
        for later, (earlier, kind) in sorted(clashes.items()):
            yield _overlap(tree, earlier, later, kind)


def _clusters(tree: _Tree) -> dict[str | None, int]:
    """Return a number for each upstream's name; upstreams that share a broker are one cluster and get the same number.

    The name None stands for the only upstream.
    """
    locs: list[Loc] = [("upstreams", index) for index in tree.indexes("upstreams")] or [("upstream",)]
    names: dict[str | None, int] = {}
    brokers: dict[str, int] = {}
    for number, loc in enumerate(locs):
        found = [tree.get(*loc, "bootstrap", one) for one in tree.indexes(*loc, "bootstrap")]
        here = {str(broker).lower() for broker in found if broker is not None}
        same = {number, *(brokers[broker] for broker in here & brokers.keys())}
        names[tree.text(*loc, "name") or DEFAULT_UPSTREAM] = number
        brokers |= dict.fromkeys(here, number)
        names = {name: min(same) if other in same else other for name, other in names.items()}
        brokers = {broker: min(same) if other in same else other for broker, other in brokers.items()}
    return names | ({None: 0} if len(locs) == 1 else {})


def _overlaps(prefixes: Mapping[int, str | None]) -> dict[int, int]:
    """Return, for each tenant whose prefix overlaps those of earlier tenants, the earliest of them."""
    folded = {index: fold(prefix) for index, prefix in prefixes.items() if prefix}
    first_with: dict[str, int] = {}
    for index, prefix in folded.items():
        first_with.setdefault(prefix, index)
    found: dict[int, int] = {}
    for index, prefix in folded.items():
        for length in range(1, len(prefix) + 1):
            other = first_with.get(prefix[:length], index)
            if other != index:
                later, earlier = max(index, other), min(index, other)
                found[later] = min(earlier, found.get(later, earlier))
    return found


def _prefix(tree: _Tree, tenant: int, kind: str) -> str | None:
    at: Loc = ("tenants", tenant, "prefixes", kind)
    if tree.is_bad(*at) or tree.get(*at) is not None:
        return tree.text(*at)
    name = tree.text("tenants", tenant, "name")
    return None if name is None else NameTemplate().prefix(name)


def _overlap(tree: _Tree, earlier: int, later: int, kind: str) -> Clash:
    both = (earlier, later)
    literal = [one for one in both if tree.get("tenants", one, "prefixes", kind) is not None]
    names = [str(tree.text("tenants", one, "name")) for one in both]
    if not literal:
        return Clash(
            ("tenants", later, "name"), _overlap_text(NameTemplate(), *names), ("tenants", earlier, "name")
        )
    locs: list[Loc] = [
        ("tenants", one, "prefixes", kind) if one in literal else ("tenants", one, "name") for one in both
    ]
    prefixes = [_prefix(tree, one, kind) for one in both]
    what = kind.replace("_", " ")
    text = (
        f"{what} prefixes {prefixes[0]} of {names[0]} and {prefixes[1]} of {names[1]} overlap: what one tenant "
        "has could be the other's on the broker: change one, so that neither begins with the other"
    )
    return Clash(locs[1], text, locs[0])


def _overlap_text(template: NameTemplate, earlier: str, later: str) -> str:
    short, long = sorted((earlier, later), key=len)
    rest = template.prefix(long)[len(template.prefix(short)) :]
    if not rest:
        return (
            f"tenant names {earlier} and {later} differ only in . and _, and Kafka refuses topics whose "
            "names do: rename one"
        )
    return (
        f"tenant names {earlier} and {later} overlap: topic {rest}x of {short} and topic x of {long} would "
        f"be one on the broker ({template.prefix(long)}x): rename one, e.g. with - in place of . or _"
    )


def _unreachable_tenants(tree: _Tree) -> Iterator[Clash]:
    """Report tenants that have neither users nor a `PLAINTEXT` or `SSL` listener set of their own."""
    sets: list[Loc] = [("proxy", "listener_sets", index) for index in tree.indexes("proxy", "listener_sets")]
    if not sets or any(tree.is_bad(*at, key) for at in sets for key in ("tenant", "security_protocol")):
        return  # a section that could not be read may have been meant for the tenant
    if tree.text("proxy", "oauth", "namespace_claim") is not None:
        return  # tokens name their tenant
    owners = {
        tree.text(*at, "tenant") for at in sets if tree.text(*at, "security_protocol") in ("PLAINTEXT", "SSL")
    }
    for index in tree.indexes("tenants"):
        at: Loc = ("tenants", index, "auth")
        has_users = any(tree.get(*at, key) for key in ("credentials", "principals"))
        name = tree.text("tenants", index, "name")
        if not has_users and not tree.is_bad(*at) and name is not None and name not in owners:
            text = f"and no user belongs to {name}: add it, or a listener set of the tenant's own"
            text = f"tenants[{index}].auth is missing, {text}"
            if tree.get(*at) is not None:
                text = "no user belongs to the tenant: add credentials, or principals"
            yield Clash(at, text)


def _topic_clashes(tree: _Tree) -> Iterator[Clash]:
    for tenant in tree.indexes("tenants"):
        at: Loc = ("tenants", tenant, "allowed_topics")
        prefix = _prefix(tree, tenant, "topic") or ""
        locs = [(*at, index) for index in tree.indexes(*at)]
        yield from _repeated(tree, locs)
        room = MAX_TOPIC_NAME_LENGTH - len(prefix)
        for loc in locs:
            topic = tree.text(*loc)
            *tiers, own = [""] if topic is None else topic.split(SEPARATOR)
            code = encode(tiers)
            if len(own) > room - len(code):
                text = (
                    f"topic {own[:20]}... has {len(own)} characters: shorten it to {max(0, room - len(code))}, for its "
                    f"name on the broker begins with {prefix}{code} and may have {MAX_TOPIC_NAME_LENGTH}"
                )
                yield Clash(loc, text)


def _username_locs(tree: _Tree) -> Iterator[Loc]:
    for tenant in tree.indexes("tenants"):
        at: Loc = ("tenants", tenant, "auth", "credentials")
        for index in tree.indexes(*at):
            yield (*at, index, "username")
        at = ("tenants", tenant, "auth", "principals")
        for index in tree.indexes(*at):
            yield (*at, index)


_KINDS: dict[str | int, str] = {
    "listener_sets": "listener set",
    "upstreams": "upstream",
    "username": "username",
    "principals": "principal",
}


def _repeated(tree: _Tree, locs: Sequence[Loc], why: str = "") -> Iterator[Clash]:
    """Report each text that occurs at more than one of `locs`, at every place but its first."""
    first: dict[str, Loc] = {}
    for loc in locs:
        value = tree.text(*loc)
        if value is None:
            continue
        if value in first:
            kind = next((_KINDS[step] for step in reversed(loc) if step in _KINDS), "topic")
            reason = f", and {why}" if why else ""
            yield Clash(loc, f"{kind} {value} is given twice{reason}: remove or rename one", first[value])
        else:
            first[value] = loc

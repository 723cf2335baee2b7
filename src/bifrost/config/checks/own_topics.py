"""Check where the gateway's own topics are: their clusters, and the topics that have one partition.

`clashes.py` reports the places. That no tenant's literal prefix covers the default names is in `internal_prefixes.py`.
"""

from collections.abc import Iterator

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.fields.state import STATE_TOPIC
from bifrost.config.fields.virtual_partitions import PARTITION_INDEX_TOPIC
from bifrost.config.loc import Loc, Tree
from bifrost.config.name_template import INTERNAL_TOPICS, NameTemplate, fold
from bifrost.config.quotas.quota_exchange import QUOTA_EXCHANGE_TOPIC

_DEFAULTS = {
    "journal": JOURNAL_TOPIC,
    "state": STATE_TOPIC,
    "quota_exchange": QUOTA_EXCHANGE_TOPIC,
    "partition_index": PARTITION_INDEX_TOPIC,
}
"""The topics of the gateway where the configuration does not name them, by section."""

_ONE_PARTITION = {
    "state": (STATE_TOPIC, "the order of one partition decides which of two changes was first"),
    "quota_exchange": (QUOTA_EXCHANGE_TOPIC, "every gateway reads all records in one order"),
    "partition_index": (PARTITION_INDEX_TOPIC, "its order decides which gateway reads logs for the index"),
}
"""By section: the default topic, and why it has one partition."""


def own_topic_misfits(tree: Tree, default_upstream: str) -> Iterator[tuple[Loc, str]]:
    """Yield what is wrong with the gateway's own topics; a cluster without a name has `default_upstream`."""
    for section in ("journal", "state", "quota_exchange"):
        yield from _cluster_misfits(tree, section, default_upstream)
    for section in _ONE_PARTITION:
        if _has(tree, section):
            yield from _topic_misfits(tree, section)
    if tree.get("proxy", "state") is not None:
        return
    if tree.get("proxy", "control") is not None:
        yield (
            ("proxy", "control"),
            "proxy.control changes what gateways share, and proxy.state is missing: write state: {} to have one",
        )


def _has(tree: Tree, section: str) -> bool:
    """Whether a gateway has a topic of its own, which the index of virtual partitions is by default."""
    if section != "partition_index":
        return tree.get("proxy", section) is not None
    return any(tree.indexes("tenants", index, "virtual_partitions") for index in tree.indexes("tenants"))


def _cluster_misfits(tree: Tree, section: str, default_upstream: str) -> Iterator[tuple[Loc, str]]:
    indexes = tree.indexes("upstreams")
    known = [tree.text("upstreams", index, "name") or default_upstream for index in indexes]
    known = known or [tree.text("upstream", "name") or default_upstream]
    at: Loc = ("proxy", section, "upstream")
    name = tree.text(*at)
    if name is not None and name not in known:
        yield at, f"proxy.{section}.upstream: no upstream is called {name}; there is {', '.join(known)}"
    if name is None and len(known) > 1 and tree.get("proxy", section) is not None:
        yield (
            ("proxy", section),
            f"proxy.{section}.upstream is missing, and there are several: name one of {', '.join(known)}",
        )


def _topic_misfits(tree: Tree, section: str) -> Iterator[tuple[Loc, str]]:
    partitions = tree.number("proxy", section, "partitions")
    default, why = _ONE_PARTITION[section]
    if partitions is not None and partitions != 1:
        yield (
            ("proxy", section, "partitions"),
            f"proxy.{section}.partitions is {partitions}: write 1, because {why}",
        )
    at: Loc = ("proxy", section, "topic")
    topic = tree.text(*at) or default
    others = {
        other: tree.text("proxy", other, "topic") or _DEFAULTS[other]
        for other in _DEFAULTS
        if other != section
    }
    if topic in (*INTERNAL_TOPICS, *others.values()):
        yield at, f"proxy.{section}.topic: {topic} is a topic with another use: choose another name"
    for index in tree.indexes("tenants"):
        name = tree.text("tenants", index, "name")
        for kind in ("topic", "transactional_id"):
            prefix = tree.text("tenants", index, "prefixes", kind)
            if prefix is None and name is not None:
                prefix = NameTemplate().prefix(name)
            if prefix and fold(topic).startswith(fold(prefix)):
                text = f"{topic} begins with the {kind} prefix {prefix} of tenant {name}, who could use it"
                yield at, f"proxy.{section}.topic: {text}: choose another name"

"""Literal prefixes under which topics lie that are no tenant's, with the places for `clashes.py`.

Names are looked at one by one (`bifrost.tenancy.names`), but a pattern that the broker matches finds all that a prefix
begins: so such a prefix is refused. Its counterpart for tenants among themselves is in `clashes.py`.
"""

from collections.abc import Iterator

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.loc import Loc, Tree
from bifrost.config.name_template import DEFAULT_MARK, INTERNAL_TOPICS


def prefix_misfits(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield where and why a prefix is not one tenant's own."""
    for index in tree.indexes("tenants"):
        at: Loc = ("tenants", index, "prefixes", "topic")
        prefix = tree.text(*at)
        if not prefix:
            continue
        topic = next((one for one in (*INTERNAL_TOPICS, JOURNAL_TOPIC) if one.startswith(prefix)), None)
        if topic is not None:
            yield at, f"topic prefix {prefix} is how the internal topic {topic} begins: choose another"
        elif DEFAULT_MARK.startswith(prefix):
            text = f"how topics of tenants without prefixes begin ({DEFAULT_MARK}): choose another"
            yield at, f"topic prefix {prefix} is {text}"

"""Check that no tenant's literal prefix covers internal topics or other tenants'; `clashes.py` reports the places.

The gateway checks names one by one (`bifrost.tenancy.names`), but a pattern that the broker matches finds all names
that begin with a prefix: so such a prefix is refused. `clashes.py` checks the tenants' prefixes against each other.
"""

from collections.abc import Iterator

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.fields.state import STATE_TOPIC
from bifrost.config.fields.virtual_partitions import PARTITION_INDEX_TOPIC
from bifrost.config.loc import Loc, Tree
from bifrost.config.name_template import DEFAULT_MARK, INTERNAL_TOPICS
from bifrost.config.quotas.quota_exchange import QUOTA_EXCHANGE_TOPIC


def prefix_misfits(tree: Tree) -> Iterator[tuple[Loc, str]]:
    """Yield the place of each prefix that covers topics of no tenant or of others, and the reason."""
    for index in tree.indexes("tenants"):
        at: Loc = ("tenants", index, "prefixes", "topic")
        prefix = tree.text(*at)
        if not prefix:
            continue
        own = (*INTERNAL_TOPICS, JOURNAL_TOPIC, STATE_TOPIC, QUOTA_EXCHANGE_TOPIC, PARTITION_INDEX_TOPIC)
        topic = next((one for one in own if one.startswith(prefix)), None)
        if topic is not None:
            yield at, f"topic prefix {prefix} is how the internal topic {topic} begins: choose another"
        elif DEFAULT_MARK.startswith(prefix):
            text = f"how topics of tenants without prefixes begin ({DEFAULT_MARK}): choose another"
            yield at, f"topic prefix {prefix} is {text}"

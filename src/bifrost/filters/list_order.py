"""Sorts by name the lists that a broker returns in the order of a hash table.

Such a table grows with the groups, transactions and partitions of all tenants, and when it grows the order changes. So
the order of a tenant's own items would reveal when other tenants' are added and removed.
"""

from operator import attrgetter

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.wire.message import Message


class ListOrderFilter(ResponseFilter):
    """Sorts one list of a response."""

    def __init__(self, attribute: str, key: str, *, within: str | None = None) -> None:
        """Sort the list `attribute` by the field `key` of its items; `within`: the list in each item of that one."""
        self._attribute = attribute
        self._key = attrgetter(key)
        self._within = within

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Sort the list."""
        for struct in [response] if self._within is None else getattr(response, self._within):
            getattr(struct, self._attribute).sort(key=self._key)
        return FORWARD


GROUPS_IN_ORDER = ListOrderFilter("groups", "group_id")
TRANSACTIONS_IN_ORDER = ListOrderFilter("transaction_states", "transactional_id")
DIRECTORIES_IN_ORDER = ListOrderFilter("topics", "name", within="results")
"""The topics within each directory."""

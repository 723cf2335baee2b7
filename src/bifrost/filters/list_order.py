"""Lists that a broker tells in the order of a hash table: told in the order of their names.

Such a table grows with everybody's groups, transactions and partitions, and when it grows the order changes. So the
order of a tenant's own would tell when others come and go.
"""

from operator import attrgetter
from typing import Any

from bifrost.filters.filter import Exchange, ResponseFilter


class ListOrderFilter(ResponseFilter):
    """Sorts one list of a response."""

    def __init__(self, attribute: str, key: str, *, within: str | None = None) -> None:
        """Sort the list `attribute` by the field `key` of its items; `within`: the list in each item of that one."""
        self._attribute = attribute
        self._key = attrgetter(key)
        self._within = within

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Sort."""
        for struct in [response] if self._within is None else getattr(response, self._within):
            getattr(struct, self._attribute).sort(key=self._key)


GROUPS_IN_ORDER = ListOrderFilter("groups", "group_id")
TRANSACTIONS_IN_ORDER = ListOrderFilter("transaction_states", "transactional_id")
DIRECTORIES_IN_ORDER = ListOrderFilter("topics", "name", within="results")
"""The topics within each directory."""

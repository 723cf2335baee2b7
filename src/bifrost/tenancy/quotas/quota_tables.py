"""The quotas of all tenants: a table for each namespace, which the configuration and the state fill."""

from collections.abc import Callable, Collection

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.quotas.quota_record import read_body, read_key
from bifrost.tenancy.quotas.quota_table import QuotaTable


class QuotaTables:
    """The tables of a process. It is the model of the state's records of quotas (state/state_model.py)."""

    def __init__(self) -> None:
        """Begin without quotas; no tenant may set any."""
        self._tables: dict[str, QuotaTable] = {}
        self._setters: Collection[str] = ()
        self.on_change: Callable[[], None] = lambda: None
        """Is called after a change of what tenants have set."""

    def table(self, path: str) -> QuotaTable:
        """Return the table of a namespace.

        Args:
            path: its path, from its tenant on (`acme`, `acme:analytics:eu`).
        """
        table = self._tables.get(path)
        if table is None:
            above = path.rpartition(":")[0]
            table = self._tables[path] = QuotaTable(path, self.table(above) if above else None)
        return table

    def tenants(self) -> set[str]:
        """Return the tenants that have a quota, or one of whose namespaces has."""
        return {path.partition(":")[0] for path, one in self._tables.items() if one.given or one.own}

    def has_any(self) -> bool:
        """Whether any tenant has a quota."""
        return any(one.given or one.own for one in self._tables.values())

    def let_set(self, tenants: Collection[str]) -> None:
        """Let the users of these tenants set quotas, and no others."""
        self._setters = tenants

    def may_set(self, tenant: str) -> bool:
        """Whether the users of a tenant may set quotas."""
        return tenant in self._setters

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what is stored for an entity.

        Raises:
            ValueError: it cannot be understood.
        """
        path, entity = read_key(key)
        values = {} if record is None or record.body is None else read_body(record.body)
        self.table(path).put(entity, values)
        self.on_change()

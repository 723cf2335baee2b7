"""The quotas of all tenants, as `bifrost control` sees and changes them.

What may be set, and what becomes of a record, `tenancy.quotas` decides, for AlterClientQuotas as well.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bifrost.control.backend import Backend, Unavailable
from bifrost.control.etag import NotAsSeen, digest
from bifrost.filters.quotas.quota_parts import Parts, entity_of, parts_of, refuse_parts
from bifrost.state.state_change import Change, StateConflict, Unchanged
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.state.state_table import StateTable
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, shown
from bifrost.tenancy.namespaces.namespace_tree import key_of
from bifrost.tenancy.quotas.quota_change import Refusal, quota_change
from bifrost.tenancy.quotas.quota_entity import NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_record import QUOTA, read_body, read_key
from bifrost.tenancy.quotas.quota_table import Values
from bifrost.tenancy.quotas.quota_tables import QuotaTables
from bifrost.tenancy.quotas.quotas_of_tenants import GivenQuotas
from bifrost.wire.error_codes import ErrorCode

ATTEMPTS = 5
"""How often a change is decided anew after another writer was first."""


WHOLE: Parts = {"namespace": None}
"""The entity for all clients of a namespace together, which only operators set; Kafka has none."""


def shown_parts(entity: QuotaEntity) -> Parts:
    """Return an entity as the API has it."""
    return WHOLE if entity.is_namespace else parts_of(entity)


class QuotaRefused(ValueError):
    """A quota may not be set; the text says which and why. Nothing was written."""

    def __init__(self, number: int, error_code: ErrorCode, message: str) -> None:
        """Name the alteration by its place in the request."""
        super().__init__(f"alterations[{number}]: {message}")
        self.error_code = error_code


@dataclass(frozen=True, slots=True)
class Alteration:
    """What is set for one entity."""

    parts: Parts
    """The entity, as Kafka's messages have it: a null name is the default; or `WHOLE`."""
    values: Mapping[str, float | None]
    """By Kafka's key; None: it is removed."""


@dataclass(frozen=True, slots=True)
class EntityQuotas:
    """What is set for one entity."""

    namespace: str
    entity: QuotaEntity
    values: Values
    record: StateRecord


class Quotas:
    """The quotas of all namespaces."""

    def __init__(self, backend: Backend, given: GivenQuotas | None = None) -> None:
        """Read them from the state, and follow it.

        Args:
            backend: the state.
            given: what the configuration gives; nothing above it can be set.
        """
        self._table, self._backend = backend.table, backend
        self._tables = QuotaTables()
        for path, quotas in (given or {}).items():
            self._tables.table(path).give(quotas)
        self._take([one.key for one in backend.table.of_kind(QUOTA)])
        backend.table.watch(QUOTA, self._take)

    def of(self, path: Path) -> list[EntityQuotas]:
        """Return what is set in a namespace, in the order of the entities.

        Raises:
            Unavailable: a record of it cannot be understood.
        """
        found = []
        for record in self._table.of_kind(QUOTA):
            if record.key.name.partition("/")[0] != shown(path):
                continue
            try:
                namespace, entity = read_key(record.key)
                found.append(EntityQuotas(namespace, entity, read_body(record.body or {}), record))
            except ValueError as error:
                raise Unavailable(f"{record.key}: {error}") from None
        return sorted(found, key=lambda one: str(one.entity))

    def digest(self, path: Path) -> str:
        """Return a digest of what is set in a namespace.

        Raises:
            Unavailable: as `of`.
        """
        return digest(f"{one.entity}\0{one.record.version}" for one in self.of(path))

    async def alter(
        self,
        path: Path,
        alterations: Sequence[Alteration],
        on_behalf_of: str,
        expected: str | None = None,
        *,
        is_dry_run: bool = False,
    ) -> list[QuotaEntity]:
        """Set quotas in a namespace, all of them or none.

        Args:
            path: a namespace that exists.
            alterations: each for another entity.
            on_behalf_of: who asks for it.
            expected: the digest that the caller has seen; None: any.
            is_dry_run: whether nothing is changed.
        Returns:
            The entities whose quotas have changed, or would.
        Raises:
            QuotaRefused, NotAsSeen: see there.
            InvalidNamespace: it was deleted meanwhile.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """

        def check(_table: StateTable) -> Iterable[Change]:
            if expected is not None and self.digest(path) != expected:
                raise NotAsSeen(f"the quotas of {shown(path)}")
            return ()

        for attempt in range(ATTEMPTS):
            check(self._table)
            changes = self._decide(path, alterations)
            changed = [read_key(one.key)[1] for one in changes]
            if is_dry_run or not changes:
                return changed
            namespace = self._table.get(key_of(path))
            unchanged = [] if namespace is None else [Unchanged(namespace.key, namespace.version)]
            try:
                await self._backend.change(changes, on_behalf_of, unchanged, check)
                return changed
            except StateConflict:
                if namespace is not None and self._table.get(namespace.key) is None:
                    raise InvalidNamespace(f"namespace {shown(path)} does not exist") from None
                if attempt + 1 == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _decide(self, path: Path, alterations: Sequence[Alteration]) -> list[Change]:
        changes: dict[StateKey, Change] = {}
        entities, added = set[QuotaEntity](), set[QuotaEntity]()
        for number, one in enumerate(alterations):
            refused = None if one.parts == WHOLE else refuse_parts(one.parts)
            if refused is not None:
                raise QuotaRefused(number, ErrorCode.INVALID_REQUEST, refused)
            entity = NAMESPACE if one.parts == WHOLE else entity_of(one.parts)
            if entity in entities:
                raise QuotaRefused(number, ErrorCode.INVALID_REQUEST, f"the entity {entity} is there twice")
            entities.add(entity)
            table = self._tables.table(shown(path))
            change = quota_change(self._table, table, shown(path), entity, one.values, added)
            if isinstance(change, Refusal):
                raise QuotaRefused(number, change.error_code, change.message or change.error_code.name)
            if change is not None:
                changes[change.key] = change
        return list(changes.values())

    def _take(self, keys: Sequence[StateKey]) -> None:
        for key in keys:
            # One that cannot be understood counts for no bound; to read or to change it is refused.
            with contextlib.suppress(ValueError):
                self._tables.apply(key, self._table.get(key))

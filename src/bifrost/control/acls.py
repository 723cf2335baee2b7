"""The ACLs of all tenants, as `bifrost control` sees and changes them.

Which ACLs may be, and what becomes of the records, `tenancy.acls` decides, for Kafka's own requests as well. A
namespace below a tenant has the tenant's ACLs about its names, by the names that its clients use.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bifrost.config.fields.tenants import Tenant
from bifrost.config.tiers import SEPARATOR
from bifrost.control.backend import Backend
from bifrost.control.etag import NotAsSeen, digest
from bifrost.state.state_change import Change, StateConflict
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.state.state_table import StateTable
from bifrost.tenancy.acls.acl_binding import AclBinding, AclBindingFilter
from bifrost.tenancy.acls.acl_change import CONFIGURED, MAX_CHANGED, TOO_MANY, deletion_of, refuse_creation
from bifrost.tenancy.acls.acl_rules import binding_of
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.relative_acls import RelativeAcls
from bifrost.tenancy.acls.stored_acls import KIND, StoredAcls, creation_of, key_of
from bifrost.tenancy.namespaces.namespace_path import Path, shown
from bifrost.tenancy.namespaces.namespace_records import DOTTED

ATTEMPTS = 5
"""How often a change is decided anew after another writer was first."""

_NO_ACLS_SET = 10_000
"""Most ACLs of a tenant without the section `acls`, which may be prepared before it: that section's own default."""


class AclRefused(ValueError):
    """An ACL may not be created; the text says which and why. Nothing was written."""

    def __init__(self, number: int, message: str, *, is_policy: bool) -> None:
        """Name the ACL by its place in the request; `is_policy`: it is one too many, not wrong in itself."""
        super().__init__(f"acls[{number}]: {message}")
        self.is_policy = is_policy


@dataclass(frozen=True, slots=True)
class NamespaceAcl:
    """An ACL of a namespace."""

    binding: AclBinding
    """By the names of the namespace's clients."""
    is_configured: bool
    """Whether it stands in the configuration, so that only a change of that removes it."""
    record: StateRecord | None
    """What the state has of it."""


class Acls:
    """The ACLs of all namespaces."""

    def __init__(self, backend: Backend, tenants: Iterable[Tenant]) -> None:
        """Read them from the state, and follow it."""
        self._backend, self._table = backend, backend.table
        self._stored = StoredAcls()
        self._take([one.key for one in backend.table.of_kind(KIND)])
        backend.table.watch(KIND, self._take)
        self._tenants = {one.name: one for one in tenants}
        self._authorities = {name: _authority(one, self._stored) for name, one in self._tenants.items()}

    def is_enforced(self, path: Path) -> bool:
        """Whether the tenant has the section `acls`, so that its ACLs decide, and not those of the brokers."""
        acls = self._tenants[path[0]].acls
        return acls is not None and acls.mode == "gateway"

    def find(self, path: Path, wanted: AclBindingFilter) -> list[NamespaceAcl]:
        """Return the ACLs of a namespace that a filter means, in order; both by the names of its clients."""
        authority = self._authorities[path[0]]
        return [
            NamespaceAcl(found, authority.is_configured(binding), self._table.get(key_of(path[0], binding)))
            for binding, found in self._matching(path, wanted)
        ]

    def digest(self, path: Path) -> str:
        """Return a digest of what the state has of a namespace's ACLs."""
        stored = self._stored.of(path[0])
        relative = self._relative(path)
        return digest(one for one, binding in stored.items() if relative.from_tenant(binding) is not None)

    async def create(
        self, path: Path, bindings: Sequence[AclBinding], on_behalf_of: str, expected: str | None = None
    ) -> list[AclBinding]:
        """Create ACLs of a namespace, all of them or none; one that is there already is no error.

        Args:
            path: a namespace that exists.
            bindings: by the names of its clients.
            on_behalf_of: who asks for it.
            expected: the digest that the caller has seen; None: any.
        Returns:
            Those that were not there, by the names of the namespace's clients.
        Raises:
            AclRefused, NotAsSeen: see there.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        created: dict[StateKey, AclBinding] = {}

        def decide() -> list[Change]:
            changes = self._creations(path, bindings)
            created.clear()
            created.update({change.key: binding for change, binding in changes})
            return [change for change, _ in changes]

        await self._change(decide, path, on_behalf_of, expected)
        return list(created.values())

    async def delete(
        self,
        path: Path,
        wanted: AclBindingFilter,
        on_behalf_of: str,
        expected: str | None = None,
        *,
        is_dry_run: bool = False,
    ) -> tuple[list[AclBinding], dict[AclBinding, str]]:
        """Delete the ACLs of a namespace that a filter means, all of them or none.

        Args:
            path: a namespace that exists.
            wanted: by the names of its clients.
            on_behalf_of: who asks for it.
            expected: the digest that the caller has seen; None: any.
            is_dry_run: whether nothing is changed.
        Returns:
            Those that were deleted, or would be; and those that stay, with the reason.
        Raises:
            AclRefused, NotAsSeen: see there.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        authority = self._authorities[path[0]]
        deleted: list[AclBinding] = []
        remaining: dict[AclBinding, str] = {}

        def decide() -> list[Change]:
            deleted.clear()
            remaining.clear()
            changes = []
            for binding, found in self._matching(path, wanted):
                change = deletion_of(self._table, path[0], binding)
                if authority.is_configured(binding):
                    remaining[found] = CONFIGURED
                elif change is not None:
                    deleted.append(found)
                    changes.append(change)
            if len(changes) > MAX_CHANGED:
                raise AclRefused(MAX_CHANGED, TOO_MANY, is_policy=True)
            return changes

        if is_dry_run:
            decide()
        else:
            await self._change(decide, path, on_behalf_of, expected)
        return deleted, remaining

    def _creations(self, path: Path, bindings: Sequence[AclBinding]) -> list[tuple[Change, AclBinding]]:
        """Return the changes that create ACLs which are not there, each with the ACL as the caller has it."""
        authority, relative = self._authorities[path[0]], self._relative(path)
        planned: dict[AclBinding, tuple[Change, AclBinding]] = {}
        for number, one in enumerate(bindings):
            try:
                binding = relative.to_tenant(one)
            except ValueError as error:
                raise AclRefused(number, str(error), is_policy=False) from None
            if relative.separator == DOTTED and one.is_of_namespace:
                raise AclRefused(
                    number, "a tenant with dotted tiers has no ACLs of namespaces", is_policy=False
                )
            # `problem` of the name that the caller knows: an empty one would be the whole namespace.
            problem = one.problem() or binding.problem()
            if problem is not None:
                raise AclRefused(number, problem, is_policy=False)
            if binding in planned or authority.has(binding):
                continue
            refused = refuse_creation(authority, len(planned))
            if refused is not None:
                raise AclRefused(number, refused, is_policy=True)
            planned[binding] = creation_of(path[0], binding), one
        return list(planned.values())

    def _matching(self, path: Path, wanted: AclBindingFilter) -> list[tuple[AclBinding, AclBinding]]:
        """Return the ACLs that a filter means, in order: each as the tenant has it, and as the namespace does."""
        relative = self._relative(path)
        matching = [
            (binding, found)
            for binding in self._authorities[path[0]].find(AclBindingFilter())
            if (found := relative.from_tenant(binding)) is not None and wanted.matches(found)
        ]
        return sorted(matching, key=lambda both: both[1])

    async def _change(
        self, decide: Callable[[], list[Change]], path: Path, on_behalf_of: str, expected: str | None
    ) -> None:
        """Write changes, and decide anew when another writer was first."""

        def check(_table: StateTable) -> Iterable[Change]:
            if expected is not None and self.digest(path) != expected:
                raise NotAsSeen(f"the ACLs of {shown(path)}")
            return ()

        for attempt in range(ATTEMPTS):
            check(self._table)
            changes = decide()
            if not changes:
                return
            try:
                await self._backend.change(changes, on_behalf_of, dependents=check)
                return
            except StateConflict:
                if attempt + 1 == ATTEMPTS:
                    raise

    def _relative(self, path: Path) -> RelativeAcls:
        is_dotted = self._tenants[path[0]].namespace_encoding == "dotted"
        return RelativeAcls(path[1:], DOTTED if is_dotted else SEPARATOR)

    def _take(self, keys: Sequence[StateKey]) -> None:
        for key in keys:
            # One that cannot be understood is not shown, and gateways are not ready because of it.
            with suppress(ValueError):
                self._stored.apply(key, self._table.get(key))


def _authority(tenant: Tenant, stored: StoredAcls) -> Authority:
    authority, acls = Authority(tenant.name, stored), tenant.acls
    authority.change(
        () if acls is None else (binding_of(rule) for rule in acls.rules),
        () if acls is None else acls.super_users,
        allow_everyone_if_no_acl_found=acls is not None and acls.allow_everyone_if_no_acl_found,
        max_stored=_NO_ACLS_SET if acls is None else acls.max_stored,
    )
    return authority

"""The connections of tenants that other processes of the same gateway have."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Elsewhere(Protocol):
    """The connections that other processes of the same gateway have."""

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Keep the other processes from admitting a tenant's connection inside."""

    def count(self, tenant: str) -> int:
        """Return how many connections the tenant has in the other processes."""

    def count_all(self) -> int:
        """Return how many connections all tenants have in the other processes."""

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Tell the other processes how many connections the tenant, and all tenants, have here."""


class Nowhere:
    """No connections: this process is the only one of its gateway."""

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Lock nothing, as no other process admits connections."""
        return nullcontext()

    def count(self, tenant: str) -> int:
        """Return 0, as there is no other process."""
        return 0

    def count_all(self) -> int:
        """Return 0, as there is no other process."""
        return 0

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Do nothing, as there is no other process to tell."""

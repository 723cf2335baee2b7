"""The connections of tenants that other processes of the same gateway have."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Elsewhere(Protocol):
    """The connections that other processes of the same gateway have."""

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Let nobody else admit a tenant's connection meanwhile."""

    def count(self, tenant: str) -> int:
        """Return how many the tenant has in the others."""

    def count_all(self) -> int:
        """Return how many all tenants have in the others."""

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Tell the others how many it has here, and how many all tenants have."""


class Nowhere:
    """There are no others."""

    def admission(self, tenant: str) -> AbstractContextManager[None]:
        """Nobody does."""
        return nullcontext()

    def count(self, tenant: str) -> int:
        """None."""
        return 0

    def count_all(self) -> int:
        """None."""
        return 0

    def note(self, tenant: str, count: int, count_all: int) -> None:
        """Tell nobody."""

"""Requests to the admin API as one of its admins: to a process (ControlProcess) or in the test's own one (Api)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

TOKENS = {"alice": "alice-" + "a" * 40, "bob": "bob-" + "b" * 40}
"""The tokens of an operator and of a viewer."""

Answered = TypeVar("Answered")


class Asking(ABC, Generic[Answered]):
    """Asks an admin API."""

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        admin: str | None = "alice",
        headers: Mapping[str, str] | None = None,
        **how: Any,
    ) -> Answered:
        """Send a request as an admin.

        Args:
            method: the HTTP method.
            path: the path, with its query.
            body: sent as JSON; None: nothing.
            admin: who asks; None: the request has no identity.
            headers: further headers.
            how: further arguments of `send`.
        """
        given = dict(headers or {})
        if admin is not None:
            given["Authorization"] = f"Bearer {TOKENS[admin]}"
        return self.send(method, path, body, given, **how)

    @abstractmethod
    def send(self, method: str, path: str, body: Any, headers: dict[str, str], **how: Any) -> Answered:
        """Send a request, and return what is answered."""

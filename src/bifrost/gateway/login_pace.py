"""How often the gateway tries to log in to a cluster that does not let it in: once a second for each account.

While logins succeed they are made side by side, as many as there are clients. After a failure they wait in line: one is
tried a second after the last failure, and the first success lets all others go on. So a wrong password does not become
a storm of logins, nor lock the account out at the broker's directory.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bifrost.gateway.errors import LoginError

RETRY_MS = 1_000
"""Time from a failed login to the next attempt with the same account."""


class LoginPace:
    """The pace of one account's logins."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        """Start without a failure.

        Args:
            now_ms: a monotonic clock, in milliseconds.
        """
        self._now_ms = now_ms
        self._failed_ms: int | None = None
        self._line = asyncio.Lock()
        self.last_failure = ""
        """What the last attempt ended with, if it failed; else empty."""

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Wait for one's turn; inside, connect and log in. What ends by LoginError counts as a failure."""
        if self._failed_ms is not None:
            async with self._line:
                # Whoever stood before in the line may have got in meanwhile.
                if self._failed_ms is not None:
                    await asyncio.sleep(max(0, self._failed_ms + RETRY_MS - self._now_ms()) / 1000)
                    async with self._noted():
                        yield
                    return
        async with self._noted():
            yield

    @asynccontextmanager
    async def _noted(self) -> AsyncIterator[None]:
        try:
            yield
        except LoginError as error:
            self._failed_ms, self.last_failure = self._now_ms(), str(error)
            raise
        self._failed_ms, self.last_failure = None, ""

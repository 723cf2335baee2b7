"""How often the gateway tries to log in to a cluster that refuses it: once a second for each account.

While logins succeed they run in parallel, as many as there are clients. After a failure they wait in line: one is tried
a second after the last failure, and the first success lets all others go on. So a wrong password neither causes a
storm of logins nor locks the account in the broker's directory.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bifrost.gateway.errors import LoginError

RETRY_MS = 1_000
"""Time from a failed login to the next attempt with the same account, of all workers together."""


class LoginPace:
    """The pace of one account's logins."""

    def __init__(self, now_ms: Callable[[], int], workers: int = 1) -> None:
        """Start without a failure.

        Args:
            now_ms: a monotonic clock, in milliseconds.
            workers: processes that try the same account, each at its own pace: one process waits this many times as
                long between two attempts.
        """
        self._now_ms, self._retry_ms = now_ms, RETRY_MS * workers
        self._failed_ms: int | None = None
        self._line = asyncio.Lock()
        self._last_failure = ""

    @property
    def has_failed(self) -> bool:
        """Whether the last attempt ended with a failed login."""
        return self._failed_ms is not None

    @asynccontextmanager
    async def attempt(self, deadline: float) -> AsyncIterator[None]:
        """Wait for the caller's turn; the caller connects and logs in inside. A LoginError counts as a failure.

        Args:
            deadline: how long to wait, by the event loop's clock.
        Raises:
            LoginError: the caller's turn did not come in time.
        """
        is_first = self._failed_ms is not None and await self._wait(deadline)
        try:
            async with self._noted():
                yield
        finally:
            if is_first:
                self._line.release()

    async def _wait(self, deadline: float) -> bool:
        """Wait in line; return whether the caller is first now and has to release the line."""
        is_first = False
        try:
            async with asyncio.timeout_at(deadline):
                is_first = await self._line.acquire()
                # The login before in the line may have succeeded meanwhile.
                if self._failed_ms is not None:
                    await asyncio.sleep(max(0, self._failed_ms + self._retry_ms - self._now_ms()) / 1000)
                    return True
        except BaseException as error:
            if is_first:
                self._line.release()
            if isinstance(error, TimeoutError):
                raise LoginError(
                    f"not tried in time, for the last login failed: {self._last_failure}"
                ) from None
            raise
        self._line.release()
        return False

    @asynccontextmanager
    async def _noted(self) -> AsyncIterator[None]:
        try:
            yield
        except LoginError as error:
            self._failed_ms, self._last_failure = self._now_ms(), str(error)
            raise
        self._failed_ms = None

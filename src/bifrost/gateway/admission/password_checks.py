"""Checks of passwords against verifiers (PBKDF2), 3 to 12 ms each: in one thread, so that the event loop goes on.

add ──▶ the line of its address, or of its tenant where the client authenticates again
             │ lines have turns, one check each; one of an address in debt waits until that is paid
             └─▶ the thread ──▶ the address is charged ──▶ done(cost)

A connection has one check at most, so there are no more than connections; those that have not authenticated leave after
`authentication_timeout_ms`. `hashlib.pbkdf2_hmac` releases Python's lock. The thread has the event loop's priority: it
needs that lock before and after, and if the system made it wait while it has the lock, the loop would wait as well.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from bifrost.authentication.accounts import PasswordCheck
from bifrost.authentication.address_costs import NO_COST, Cost
from bifrost.authentication.failed_authentications import FailedAuthentications, network_of
from bifrost.gateway.admission.address_turns import AddressTurns, Timer
from bifrost.gateway.loop.loop_guard import report

CHECK_LIMIT = "password_checks"
"""The limit that counts as hit when a check waits for others."""

Done = Callable[[Cost], None]
Key = tuple[bool, str]
"""Whether it is a tenant, and the tenant's name or an address's network."""


class PasswordChecks:
    """The checks of one process."""

    def __init__(self, failures: FailedAuthentications, now_ms: Callable[[], int]) -> None:
        """Begin without any; there is no thread before the first.

        Args:
            failures: is told what checks cost, and knows the debts of addresses.
            now_ms: a monotonic clock, in milliseconds.
        """
        self._failures, self._now_ms = failures, now_ms
        self._lines: dict[Key, dict[Hashable, tuple[PasswordCheck, Done]]] = {}
        """The line whose turn is next comes first."""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "password_checks")

    def add(self, address: str, tenant: str | None, one: Hashable, check: PasswordCheck, done: Done) -> None:
        """Run a check when its turn comes.

        Args:
            address: the client's address, which is charged for it.
            tenant: the tenant of a client that authenticates again, whose address is not charged; else None.
            one: the connection.
            check: the check to run.
            done: called when it has run, with its cost; not if the connection has left before it began.
        """
        self._lines.setdefault(_key(address, tenant), {})[one] = check, done
        self._changed.set()
        if self._task is not None:
            self._failures.note_wait(CHECK_LIMIT)
        else:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self, address: str, tenant: str | None, one: Hashable) -> None:
        """Forget a connection's check, if it waits: the connection has ended."""
        key = _key(address, tenant)
        line = self._lines.get(key)
        if line is not None and line.pop(one, None) is not None and not line:
            del self._lines[key]

    def forgiven(self) -> None:
        """Look again at debts: one has become smaller."""
        self._changed.set()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    async def _run(self) -> None:
        """Run the checks, one after the other, until none is left."""
        loop = asyncio.get_running_loop()
        try:
            while self._lines:
                self._changed.clear()
                key, wait_ms = self._next_key()
                if key is None:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(wait_ms / 1000):
                            await self._changed.wait()
                    continue
                check, done = self._take(key)
                try:
                    cpu_ns = await loop.run_in_executor(self._thread, _timed, check)
                    done(self._charge(key, cpu_ns))
                except Exception as error:  # Its connection ends after its authentication timeout.
                    report("password_check", error)
        finally:
            self._task = None

    def _charge(self, key: Key, cpu_ns: int) -> Cost:
        is_tenant, network = key
        cost = NO_COST if is_tenant else Cost(cpu_ns=cpu_ns)
        if not is_tenant:
            self._failures.charge(network, cost, self._now_ms())
        return cost

    def _next_key(self) -> tuple[Key | None, int]:
        """Return the line whose turn it is; None: all are of addresses in debt, the first for so many ms more."""
        now_ms, least_ms = self._now_ms(), 0
        for _ in range(len(self._lines)):
            key = next(iter(self._lines))
            is_tenant, network = key
            wait_ms = 0 if is_tenant else self._failures.debt_ms(network, now_ms)
            if not wait_ms:
                return key, 0
            self._lines[key] = self._lines.pop(key)
            least_ms = min(wait_ms, least_ms or wait_ms)
        return None, least_ms

    def _take(self, key: Key) -> tuple[PasswordCheck, Done]:
        """Take the first check of a line, which goes behind the others."""
        line = self._lines.pop(key)
        taken = line.pop(next(iter(line)))
        if line:
            self._lines[key] = line
        return taken


def admission(
    failures: FailedAuthentications,
    now_ms: Callable[[], int],
    later: Callable[[float, Callable[[], None]], Timer],
) -> tuple[AddressTurns, PasswordChecks]:
    """Return the turns of addresses and the checks of a gateway: see their classes."""
    return AddressTurns(failures, now_ms, later), PasswordChecks(failures, now_ms)


def _key(address: str, tenant: str | None) -> Key:
    return (False, network_of(address)) if tenant is None else (True, tenant)


def _timed(check: PasswordCheck) -> int:
    """Run a check; return the CPU time of the thread that it took, in nanoseconds."""
    began_ns = time.thread_time_ns()
    check.run()
    return time.thread_time_ns() - began_ns

"""Connections of addresses in debt: they go on one after the other, each when the debt is paid.

enter ──▶ goes on at once, where the address has no debt and no connection waits
  │
  └─────▶ waits in its address's line ──▶ the debt is paid: the first goes on, and is charged ──▶ the next waits again
                   └─ leave: the connection has ended

The debt is that of `FailedAuthentications`: what connections have cost whose clients have not authenticated. A delay
for each connection would not bound that, as hundreds of connections wait side by side.
"""

from collections.abc import Callable, Hashable
from typing import Protocol

from bifrost.authentication.address_costs import Cost
from bifrost.authentication.failed_authentications import ADDRESS_COST, FailedAuthentications, network_of
from bifrost.config.fields.limits import Limits
from bifrost.gateway.loop.loop_guard import report

ENTRY = Cost(cpu_ns=1_000_000)
"""CPU time that a connection is charged for when it goes on: to accept it, to take it over and to close it."""


def max_delay_ms(limits: Limits) -> int:
    """Return the longest delay of a connection, which must leave the client enough of its authentication timeout."""
    return min(limits.max_authentication_delay_ms, limits.authentication_timeout_ms // 2)


class Timer(Protocol):
    """A call that comes later."""

    def cancel(self) -> None:
        """Do not call."""


class AddressTurns:
    """The lines of all addresses; no longer than the number of connections that may be open without authentication."""

    def __init__(
        self,
        failures: FailedAuthentications,
        now_ms: Callable[[], int],
        later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        """Begin without any.

        Args:
            failures: knows the debts.
            now_ms: a monotonic clock, in milliseconds.
            later: calls after a time in seconds.
        """
        self._failures, self._now_ms, self._later = failures, now_ms, later
        self._lines: dict[str, dict[Hashable, Callable[[], None]]] = {}
        self._timers: dict[str, Timer] = {}
        """One for each line."""

    def enter(self, address: str, one: Hashable, go_on: Callable[[], None]) -> bool:
        """Let a connection go on, now or when its turn comes; return whether it waits.

        Args:
            address: the client's address.
            one: the connection.
            go_on: called once. It charges the address for the connection, before it returns.
        """
        network = network_of(address)
        wait_ms = self._failures.debt_ms(network, self._now_ms())
        line = self._lines.get(network)
        if not wait_ms and not line:
            go_on()
            return False
        self._failures.note_wait(ADDRESS_COST)
        self._lines.setdefault(network, {})[one] = go_on
        if network not in self._timers:
            self._look_in(network, wait_ms)
        return True

    def leave(self, address: str, one: Hashable) -> None:
        """Forget a connection, if it waits: it has ended."""
        network = network_of(address)
        line = self._lines.get(network)
        if line is None or line.pop(one, None) is None or line:
            return
        del self._lines[network]
        self._timers.pop(network).cancel()

    def forgive(self, address: str, cost: Cost) -> None:
        """Take back what a connection has cost: its client has authenticated. Others may go on sooner."""
        self._failures.forgive(address, cost, self._now_ms())
        network = network_of(address)
        if network in self._timers:
            self._timers.pop(network).cancel()
            # Not at once: the one that goes on may have a whole login to send, and be forgiven in turn.
            self._look_in(network, 0)

    def _look_in(self, network: str, wait_ms: int) -> None:
        self._timers[network] = self._later(wait_ms / 1000, lambda: self._next(network))

    def _next(self, network: str) -> None:
        """Let the first of a line go on, and more as long as the address has no debt."""
        self._timers.pop(network, None)
        while line := self._lines.get(network):
            wait_ms = self._failures.debt_ms(network, self._now_ms())
            if wait_ms:
                self._look_in(network, wait_ms)
                return
            one = next(iter(line))
            go_on = line.pop(one)
            try:
                go_on()
            except Exception as error:
                report("address_turn", error)
        self._lines.pop(network, None)

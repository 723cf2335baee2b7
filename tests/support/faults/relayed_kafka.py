"""A broker that is reached, at the address that it tells, through a fault proxy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from bifrost.embedded.kafka import SHORT_SESSION, EmbeddedKafka, _held_port, _Node
from support.faults.fault_proxy import Address, FaultProxy

HOST = "127.0.0.1"
LISTENER = "RELAYED"
REQUEST_LOG = "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug"
"""Each request is a line of the broker's log then, with the address of the client."""
QUICK_SESSIONS = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
"""A member that is lost has to be missed while a test waits."""


class RelayedKafka(EmbeddedKafka):
    """One broker with a second listener, which tells the proxy's address. Its own address is the tests' way past it."""

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
        accepted: Callable[[Address], None] | None = None,
    ) -> None:
        """Describe it.

        Args:
            properties: further server properties.
            java_options: further options of its JVM.
            accepted: as of `FaultProxy`.
        """
        super().__init__(
            properties=QUICK_SESSIONS | dict(properties or {}), java_options=(*SHORT_SESSION, *java_options)
        )
        self._accepted = accepted
        self._told_port = self._listener_port = 0
        self._proxy: FaultProxy | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            routes = {(HOST, self._told_port): (HOST, self._listener_port)}
            self._proxy = FaultProxy(routes, accepted=self._accepted).__enter__()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self._proxy is not None:
            self._proxy.__exit__()
            self._proxy = None
        super().stop()

    @property
    def proxy(self) -> FaultProxy:
        """What stands before the broker."""
        assert self._proxy is not None
        return self._proxy

    @property
    def told(self) -> str:
        """The bootstrap address through the proxy."""
        return f"{HOST}:{self._told_port}"

    def _choose_ports(self) -> None:
        with contextlib.ExitStack() as held:
            self._told_port = held.enter_context(_held_port()).getsockname()[1]
            self._listener_port = held.enter_context(_held_port()).getsockname()[1]
            super()._choose_ports()  # While these are held, so that no two are the same.

    def _server_properties(self, node: _Node) -> dict[str, str]:
        properties = super()._server_properties(node)
        more = {
            "listeners": f"{LISTENER}://{HOST}:{self._listener_port}",
            "advertised.listeners": f"{LISTENER}://{HOST}:{self._told_port}",
            "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT",
        }
        return properties | {key: f"{properties[key]},{value}" for key, value in more.items()}

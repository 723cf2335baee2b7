"""The interface of a filter: it sees one decoded request and, later, its response, both with the tenant's own names.

A filter does no I/O and keeps no state of its own; it stores in the exchange what it must remember from the request to
the response. Order: on the way to the broker the filters run first and the namespace translates last; on the way back
the namespace translates first. So a filter only ever sees virtual names.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.entity import Entity
from bifrost.wire.message import Message


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant and listener of a request: the same for all requests of a connection."""

    namespace: Namespace
    addresses: BrokerAddresses

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Return host and port at which the client reaches a broker, or None when it cannot reach it."""
        return self.addresses.address_of(node_id, self.namespace.tenant)

    @property
    def gateway_host(self) -> str:
        """The host by which the tenant knows the gateway."""
        return self.addresses.host_for(self.namespace.tenant)


@dataclass(slots=True)
class Exchange:
    """One request, with the data that filters keep until its response comes."""

    api_key: int
    api_version: int
    scope: Scope
    notes: dict[str, Any] = field(default_factory=dict)
    """Data that a filter keeps for itself, under its own name."""
    wants_response: bool = False
    """Whether a filter must see the response in any case."""


class Filter(Protocol):
    """A treatment of one or a few APIs."""

    ENTITIES: ClassVar[frozenset[Entity]]
    """The kinds of field that it handles, of those that the engine cannot replace in place."""

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Change the request in place, or return the response to give without asking the broker."""

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Change the response in place."""


class RequestFilter:
    """A filter that has nothing to do on the way back."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Leave the response unchanged."""


class ResponseFilter:
    """A filter that has nothing to do on the way to the broker."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Leave the request unchanged."""
        return None

"""Replaces each broker's address in a response by the listener's port for it: clients connect through the gateway.

Metadata, FindCoordinator, DescribeCluster, and the leader hints of Produce and Fetch (KIP-951); the schema has the
places. The engine does the same in place where it can (tenancy/answer_names.py); this filter does the rest.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter, Scope
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.tenancy.brokers import NO_NODE
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import entities_of
from bifrost.wire.message import Message
from bifrost.wire.schema import Field, message_schema
from bifrost.wire.steps import in_steps


@dataclass(frozen=True, slots=True)
class _Place:
    """The struct that holds a host: the attribute of its array (None: the message itself) and its node ID's."""

    array: str | None
    node_id: str


@cache
def _places_of(message: str, version: int) -> tuple[_Place, ...]:
    schema = message_schema(message)
    places = []
    for path, entity in entities_of(message, version).items():
        if entity is not Entity.BROKER_HOST:
            continue
        *outer, _host = path.split(".")
        assert len(outer) <= 1, "Kafka gives brokers in a top-level array, or in the message itself"
        holder = next((field for field in schema.fields if [field.kafka_name] == outer), None)
        siblings: tuple[Field, ...] = schema.fields if holder is None else holder.fields
        node_id = next(
            field.name for field in siblings if field.entity_type == "brokerId" and version in field.versions
        )
        places.append(_Place(None if holder is None else holder.name, node_id))
    return tuple(places)


class BrokerAddressFilter(ResponseFilter):
    """Replaces host and port by node ID; a broker that has no port in the listener's range is left out."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.BROKER_HOST})

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Give every broker the address at which a client of this listener reaches it."""
        scope = exchange.scope
        for place in _places_of(response.SCHEMA.name, exchange.api_version):
            if place.array is None:
                _readdress(scope, response, place.node_id)
                continue
            brokers = getattr(response, place.array)
            kept = [broker for broker in in_steps(brokers) if _readdress(scope, broker, place.node_id)]
            setattr(response, place.array, kept)
        return FORWARD


def _readdress(scope: Scope, struct: Any, node_id_attribute: str) -> bool:
    """Set the address in one struct; False when the broker has no address and the struct no error code for that."""
    node_id = getattr(struct, node_id_attribute)
    address = None if node_id == NO_NODE else scope.address_of(node_id)
    if address is not None:
        struct.host, struct.port = address
        return True
    struct.host, struct.port = "", -1
    if not hasattr(struct, "error_code"):
        return False
    if struct.error_code == ErrorCode.NONE:
        struct.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        setattr(struct, node_id_attribute, NO_NODE)
    return True

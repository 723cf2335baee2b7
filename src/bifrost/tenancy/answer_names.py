"""The names and addresses in a broker's answers as the clients of one listener see them.

The engine replaces both in place. Names, IDs and the cluster ID are the same for all clients of a tenant, so their
tables are the namespace's own; a broker's address depends on the listener, so each listener has a table of its own. The
counterpart for decoded messages is filters/broker_address.py.
"""

import struct

from bifrost.tenancy.brokers import NO_NODE, BrokerAddresses
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.program import SLOT_ADDRESS
from bifrost.wire.rewriting import Names

MAX_LISTENERS = 16
"""Listeners remembered for a tenant; every reload may make new ones."""

MAX_ADDRESSES = 4096
"""Brokers remembered for each listener."""

_NODE_ID, _PORT = struct.Struct(">i"), struct.Struct(">i")


def answer_names(namespace: Namespace, addresses: BrokerAddresses) -> Names:
    """Return the names in answers to a tenant's clients on the listener where brokers have these addresses."""
    found = namespace.at_listeners.get(addresses)
    if found is None:
        if len(namespace.at_listeners) >= MAX_LISTENERS:
            namespace.at_listeners.clear()
        found = namespace.at_listeners[addresses] = _names_at(namespace, addresses)
    return found


def _names_at(namespace: Namespace, addresses: BrokerAddresses) -> Names:
    known: dict[bytes, bytes] = {}
    missing_name = namespace.to_virtual.missing

    def missing(slot: int, value: bytes) -> bytes | None:
        if slot != SLOT_ADDRESS:
            return missing_name(slot, value)
        (node_id,) = _NODE_ID.unpack(value)
        # The filters leave out a broker without an address, or put an error in its place.
        address = None if node_id == NO_NODE else addresses.address_of(node_id, namespace.tenant)
        if address is None:
            return None
        host, port = address
        if len(known) >= MAX_ADDRESSES:
            known.clear()
        known[value] = found = host.encode() + _PORT.pack(port)
        return found

    names = Names(missing, namespace.to_virtual, 0)
    names.tables[SLOT_ADDRESS] = known
    return names

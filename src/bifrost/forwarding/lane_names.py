"""The names that a lane uses: what the engine replaces in a request on the way to the broker, and in its answer."""

from typing import NamedTuple

from bifrost.tenancy.answer_names import answer_names
from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.rewriting import Names


class LaneNames(NamedTuple):
    """Both directions of one namespace; two are equal if they are made of the same objects."""

    to_physical: Names
    """The names in requests, as the broker calls them."""
    to_virtual: Names
    """The names and addresses in answers, as the client calls them."""
    client_id_prefix: bytes | None
    """The prefix that the broker sees before the client ID of each request; None: no prefix."""


def lane_names(namespace: Namespace, addresses: BrokerAddresses) -> LaneNames:
    """Return the names that all clients of a namespace use on the listener where brokers have these addresses."""
    return LaneNames(
        namespace.to_physical, answer_names(namespace, addresses), namespace.names.client_id_prefix
    )

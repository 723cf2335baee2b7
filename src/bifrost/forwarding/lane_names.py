"""The names that a lane uses: what the engine replaces in a request on the way to the broker, and in its answer."""

from typing import TYPE_CHECKING, NamedTuple

from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.answer_names import answer_names
from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.rewriting import Names

if TYPE_CHECKING:
    from bifrost.filters.records.record_topics import RecordTopics
    from bifrost.filters.virtual.virtual_topics import VirtualTopics


class LaneNames(NamedTuple):
    """Both directions of one namespace; two are equal if they are made of the same objects."""

    to_physical: Names
    """The names in requests, as the broker calls them."""
    to_virtual: Names
    """The names and addresses in answers, as the client calls them."""
    client_id_prefix: bytes | None
    """The prefix that the broker sees before the client ID of each request; None: no prefix."""
    guard: Guard | None = None
    """What the clients may do; None: their tenant has no ACLs."""
    records: "RecordTopics | None" = None
    """The topics whose records are transformed; None: no filter of records is for the clients."""

    virtual: "VirtualTopics | None" = None
    """The topics that have virtual partitions; None: the tenant has none."""
    kept: KeptEntries | None = None
    """What requests make brokers keep; None: its number is not bounded."""

    def of_api(self, api_key: int) -> "LaneNames":
        """Return the names for the messages of an API: of clients that ACLs apply to, those that they may use."""
        found = self
        if self.guard is not None:
            found = found._replace(
                to_physical=self.guard.to_physical(api_key),
                to_virtual=self.guard.to_virtual(api_key, self.to_virtual),
            )
        if self.records is not None:
            found = found._replace(
                to_physical=self.records.to_physical(api_key, found.to_physical),
                to_virtual=self.records.to_virtual(api_key, found.to_virtual),
            )
        if self.virtual is not None:
            found = found._replace(
                to_physical=self.virtual.in_requests(api_key, found.to_physical),
                to_virtual=self.virtual.in_answers(api_key, found.to_virtual),
            )
        return found


def lane_names(
    namespace: Namespace,
    addresses: BrokerAddresses,
    guard: Guard | None = None,
    records: "RecordTopics | None" = None,
    virtual: "VirtualTopics | None" = None,
) -> LaneNames:
    """Return the names that all clients of a namespace, with the same rights, use on the listener where brokers have
    these addresses."""
    return LaneNames(
        namespace.to_physical,
        answer_names(namespace, addresses),
        namespace.names.client_id_prefix,
        guard,
        records,
        virtual,
        namespace.kept,
    )

"""The interface of a filter: it sees one decoded request and, later, its response, both with the tenant's own names.

A filter does no I/O and keeps no state of its own; it stores in the exchange what it must remember from the request to
the response, under a `Note`, which has a type. What it decides is a step (filters/steps.py).

Order: on the way to the broker the filters run first and the namespace translates last; on the way back the namespace
translates first. So a filter only ever sees virtual names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from bifrost.filters.steps import FORWARD, NOTHING_MET, Need, RequestStep, ResponseStep, StateChange
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.quotas.quota_tables import QuotaTables
from bifrost.wire.entity import Entity
from bifrost.wire.message import Message

if TYPE_CHECKING:
    from bifrost.filters.api_versions import OfferedVersions
    from bifrost.filters.records.record_topics import RecordTopics
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.state.state_table import StateTable
    from bifrost.tenancy.recent_records.recent_records import RecentView
    from bifrost.tenancy.users.stored_users import StoredUsers
    from bifrost.tenancy.virtual_partitions.own_producer import OwnProducer
    from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets
    from bifrost.tenancy.virtual_partitions.shares.share_sessions import ShareSessions
    from bifrost.wire.framer import TakenRoom
    from bifrost.wire.rewriting import RecordTrip

Request = TypeVar("Request", bound=Message, contravariant=True)
Response = TypeVar("Response", bound=Message, contravariant=True)
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant and listener of a request: the same for all requests of a connection."""

    namespace: Namespace
    addresses: BrokerAddresses
    user: str = ""
    """The user name of the client, without Kafka's `User:`."""
    state: "StateTable | None" = None
    """What all gateways share (docs/state.md); None: the configuration has no `proxy.state`."""
    quotas: QuotaTables = field(default_factory=QuotaTables)
    """The quotas of all tenants."""
    guard: Guard | None = None
    """What the client may do; None: its tenant has no ACLs."""
    users: "StoredUsers | None" = None
    """The users that tenants have made; None: the configuration has no `proxy.state`."""
    records: "RecordTopics | None" = None
    """The topics whose records are transformed; None: no filter of records is for the client."""
    virtual: "VirtualTopics | None" = None
    """The topics that have virtual partitions; None: the tenant has none."""
    producer: "OwnProducer | None" = None
    """The producer in whose name batches of the connection are written to such topics that have none."""
    scanned: "ScannedOffsets | None" = None
    """What the connection has fetched of such topics that was not the consumer's own."""
    shares: "ShareSessions | None" = None
    """Which of their partitions members of share groups on the connection fetch."""
    recent: "RecentView | None" = None
    """What brokers have answered of late to connections like it about such topics."""

    def address_of(self, node_id: int) -> tuple[str, int] | None:
        """Return host and port at which the client reaches a broker, or None when it cannot reach it."""
        return self.addresses.address_of(node_id, self.namespace.tenant)

    @property
    def gateway_host(self) -> str:
        """The host by which the tenant knows the gateway."""
        return self.addresses.host_for(self.namespace.tenant)


class Note(Generic[Kept]):
    """The key of what one filter remembers in an exchange; its type is that of the value."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """Make a key; `name` is for people who read a dump."""
        self.name = name

    def __repr__(self) -> str:
        return f"Note({self.name!r})"


class MutationQuota(Protocol):
    """The quota of partitions that a client creates and deletes (KIP-599)."""

    throttle_ms: int
    """How long the client is told to wait, in milliseconds, once its request is charged."""

    def take(self, partitions: int, *, is_strict: bool) -> bool:
        """Charge partitions; return False, and charge nothing, if the quota is used up and `is_strict`."""

    def note_told(self) -> None:
        """Count how long the client is told to wait."""


@dataclass(slots=True)
class Exchange:
    """One request, with the data that filters keep until its response comes."""

    api_key: int
    api_version: int
    scope: Scope
    wants_response: bool = False
    """Whether a filter must see the response in any case."""
    met: Mapping[type[Need], Need] = field(default_factory=lambda: NOTHING_MET)
    """The needs that were met for this request, by their kinds: a filter does not ask for them again."""
    new_partitions: int = 0
    """How many partitions the brokers create for this request, which is what it costs them."""
    read_batches: int = 0
    """How many batches the gateway reads from the broker for the answer, as far as the request tells."""
    read_later: int = 0
    """How many it has read beyond these, once the answer is known."""
    more_groups: int = 0
    """How many groups the request asks the broker for beside those that the client has named."""
    parts: Sequence[Any] = ()
    """Requests of the same API and version that go to the broker before the client's, which was divided; with virtual
    names."""
    part_answers: tuple[Any, ...] = ()
    """The broker's answers to them, in their order, when that to the client's request has come."""
    trip: "RecordTrip | None" = None
    """What the way of a request keeps that was not decoded; its answer is."""
    offered: "OfferedVersions | None" = None
    """What the broker of the connection can be asked for; None: it is not known."""
    is_first: bool = False
    """Whether no request of the connection before it awaits an answer."""
    left_out_bytes: int = 0
    """Bytes of the broker's answer that the client is not given: records of virtual partitions it did not ask for."""
    stand_in: Message | None = None
    """What the request is answered with in place of the broker, with virtual names; filters see it as a broker's
    answer. None: the broker is asked."""
    stand_in_room: "TakenRoom | None" = None
    """The room for it, in which its bytes count."""
    mutations: "MutationQuota | None" = None
    """What partitions are charged to that the request creates or deletes; None: there is no quota for them."""
    _notes: dict[Note[Any], Any] = field(default_factory=dict)

    @property
    def state_change(self) -> StateChange | None:
        """The change of the state that was tried for this request, with its outcome; None: none yet."""
        return cast("StateChange | None", self.met.get(StateChange))

    def keep(self, note: Note[Kept], value: Kept) -> None:
        """Remember a value until the response comes."""
        self._notes[note] = value

    def kept(self, note: Note[Kept]) -> Kept:
        """Return the value that was kept under this note.

        Raises:
            KeyError: nothing was.
        """
        return cast("Kept", self._notes[note])

    def find(self, note: Note[Kept]) -> Kept | None:
        """Return the value that was kept under this note, or None."""
        return cast("Kept | None", self._notes.get(note))


class Filter(Protocol[Request, Response]):
    """A treatment of one or a few APIs: of these requests and these responses."""

    ENTITIES: ClassVar[frozenset[Entity]]
    """The kinds of field that it handles, of those that the engine cannot replace in place."""

    def on_request(self, exchange: Exchange, request: Request, /) -> RequestStep:
        """Decide about a request; change it in place if it goes on."""

    def on_response(self, exchange: Exchange, response: Response, /) -> ResponseStep:
        """Decide about a response; change it in place if it goes on."""


AnyFilter = Filter[Any, Any]
"""A filter where the message class is known only when the program runs."""


class RequestFilter:
    """A filter that has nothing to do on the way back."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_response(self, exchange: Exchange, response: Message, /) -> ResponseStep:
        """Leave the response unchanged."""
        return FORWARD


class ResponseFilter:
    """A filter that has nothing to do on the way to the broker."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Message, /) -> RequestStep:
        """Leave the request unchanged."""
        return FORWARD

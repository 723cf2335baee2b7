"""The four things that can be decided about a message.

    Forward   it goes on, as the filters have changed it
    Answer    the gateway answers the request itself, and nothing of it goes to the broker
    Need      it waits for something that the gateway does not have yet, and only its own connection waits with it
    Close     it can be neither sent on nor answered, so the connection ends

A message that waits is kept as bytes. When what it needed is there, it is decoded anew and decided from the beginning.
So a filter that returns a Need must not have changed anything but the message.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, final

from bifrost.state.state_outcome import StateOutcome
from bifrost.wire.message import Message

if TYPE_CHECKING:
    from bifrost.state.state_change import Change, Unchanged
    from bifrost.tenancy.recent_records.shared_poll import PollEnd
    from bifrost.transforms.record_transform import Key


@final
class Forward:
    """The message goes on."""

    __slots__ = ()


FORWARD = Forward()


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """The gateway's own response to a request."""

    response: Message


@final
@dataclass(frozen=True, slots=True)
class Close:
    """The connection ends."""

    detail: str
    """Why, for the log."""


class Need:
    """Something that a message waits for; each kind is a class of its own, since each is met in its own way."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
class Turn(Need):
    """Time: the slice in which the work on the message began has ended (forwarding/turns.py)."""

    __slots__ = ()


TURN = Turn()

NOTHING_MET: Mapping[type[Need], Need] = MappingProxyType({})
"""No need was met."""


@final
@dataclass(frozen=True, slots=True)
class TopicIds(Need):
    """Whether these topic IDs are the tenant's, and what their topics are called: the cluster is asked."""

    ids: frozenset[bytes]


@final
class TopicCount(Need):
    """How many topics and partitions the tenant has (tenancy/topic_bounds.py): the cluster is asked."""

    __slots__ = ()


@final
@dataclass(frozen=True, slots=True)
class StateChange(Need):
    """A change of the dynamic state, which the gateway has to write before the request is answered.

    The message is then decided anew, and the filter finds this need with its outcome in `Exchange.state_change`. The
    state may say something else by then, so the filter answers by its `plan` and does not judge the request again.
    After a conflict it may judge the request anew and return another change, with a higher `attempt`, up to
    MAX_ATTEMPTS.
    """

    changes: "tuple[Change, ...]" = field(repr=False)
    """At least one, each of another key."""
    on_behalf_of: str
    """The principal that sent the request."""
    unchanged: "tuple[Unchanged, ...]" = ()
    """What must be as the filter has seen it."""
    plan: Any = field(default=None, compare=False, repr=False)
    """What the filter needs to answer the request, such as the answers of the items that it refuses."""
    attempt: int = 1
    outcome: StateOutcome | None = field(default=None, compare=False)
    """What became of it; None: nothing yet."""


MAX_ATTEMPTS = 5
"""How often a filter lets a request's change be tried if each time another writer was first."""


@final
@dataclass(frozen=True, slots=True)
class RecordNeeds(Need):
    """What transforms of records need from outside: their sources are asked (filters/records/sources.py)."""

    keys: "frozenset[Key]" = field(compare=False)
    """What is to be answered."""
    known: "Mapping[Key, object]" = field(compare=False, repr=False)
    """The answers that there are; when it is met, those to all `keys` as well."""
    waited_ns: int = field(default=0, compare=False)
    """How long the message has waited for these answers."""
    rounds: int = field(default=1, compare=False)
    """How often the message has asked."""
    message: object = field(default_factory=object, repr=False)
    """What tells it from the need of another message, whose answers are kept apart."""


class StoredAt(NamedTuple):
    """Where a broker has a batch."""

    topic: bytes
    """The physical topic."""
    partition: int
    offset: int
    """Of a record in it."""
    max_bytes: int = 1
    """Batches behind it are read as well, as far as all have no more than this."""


class StoredBatch(NamedTuple):
    """What a broker says of a batch."""

    error_code: int
    """As a Fetch has it; not 0: there are no records."""
    records: bytes = b""
    """The batch, whole."""


@final
@dataclass(frozen=True, slots=True)
class StoredBatches(Need):
    """Batches that the broker of the connection has: it is asked for them by itself (gateway/brokers/).

    When the need is met, at least one of them is found; what is not may be asked for again.
    """

    wanted: tuple[StoredAt, ...]
    found: Mapping[StoredAt, StoredBatch] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, repr=False
    )
    waited_ns: int = field(default=0, compare=False)
    """How long the message has waited for batches."""
    message: object = field(default_factory=object, repr=False)
    """What tells it from the need of another message."""


@final
@dataclass(frozen=True, slots=True)
class AclsAtBroker(Need):
    """Requests about ACLs that a broker is asked for the client, with the client's own account there.

    The message is then decided anew, and the filter finds this need with the answers in `Exchange.met`.
    """

    requests: tuple[Message, ...] = field(compare=False, repr=False)
    """At least one, all of one API, with physical names."""
    plan: Any = field(default=None, compare=False, repr=False)
    """What the filter needs to answer the client's request."""
    answers: tuple[Message, ...] | None = field(default=None, compare=False, repr=False)
    """The broker's answers in the same order; None: it has not been asked."""
    message: object = field(default_factory=object, repr=False)
    """What tells it from the need of another message, whose answers are kept apart."""


@final
@dataclass(frozen=True, slots=True)
class AtBroker(Need):
    """Requests that the broker of the connection is asked before it gets the client's, over the same connection.

    The message is then decided anew, and the filter finds this need with the answers in `Exchange.met`. It may return
    another one. Both requests and answers have virtual names; an answer about a foreign name lacks it.
    """

    requests: tuple[tuple[Message, int], ...] = field(compare=False, repr=False)
    """At least one, each with its version, which the broker must have."""
    plan: Any = field(default=None, compare=False, repr=False)
    """What the filter needs to go on."""
    answers: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """The broker's, in the same order."""
    groups: int = field(default=0, compare=False)
    """How many groups they name beside one in each."""


@final
class OthersPoll(Need):
    """The answer to the same Fetch of another connection, or time (tenancy/recent_records/shared_poll.py).

    The message is then decided anew, and the filter finds this need in `Exchange.met`. It may return another one.
    """

    __slots__ = ("due_ns", "ends", "rounds", "until_ns")

    def __init__(
        self, ends: "frozenset[PollEnd]", until_ns: int, *, due_ns: int | None = None, rounds: int = 1
    ) -> None:
        """Wait until one of `ends` comes, and no longer than `until_ns` of the engine's clock.

        Args:
            ends: none: it waits for the time.
            until_ns: when this wait is over.
            due_ns: when the client expects its answer at the latest; None: then as well.
            rounds: how often the Fetch has waited, with this time.
        """
        self.ends, self.until_ns, self.rounds = ends, until_ns, rounds
        self.due_ns = until_ns if due_ns is None else due_ns

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


Fetched = TopicIds | TopicCount | StateChange | RecordNeeds | StoredBatches | AclsAtBroker
"""The needs that a connection meets by itself, by asking brokers or others (`WayToBroker.fetch`)."""

RequestStep = Forward | Answer | Need | Close
"""What a filter returns for a request."""

ResponseStep = Forward | Need | Close
"""What a filter returns for a response, which cannot be answered."""

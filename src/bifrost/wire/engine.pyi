"""Types and contract of the compiled engine; engine.pyx explains how it works."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, TypeVar

from bifrost.wire.engine_framer import LARGE_BYTES as LARGE_BYTES
from bifrost.wire.engine_framer import Framer as Framer
from bifrost.wire.engine_framer import Room as Room
from bifrost.wire.engine_usage import GATEWAY_TIME_BOUNDS_US as GATEWAY_TIME_BOUNDS_US
from bifrost.wire.engine_usage import Passing as Passing
from bifrost.wire.engine_usage import Tally as Tally
from bifrost.wire.engine_usage import TopicUsage as TopicUsage
from bifrost.wire.engine_usage import Usage as Usage
from bifrost.wire.message import Struct

_T = TypeVar("_T")

SLOT_DECODE: int
"""The slot of a field that cannot be rewritten in place: if it holds something, the frame is decoded."""

SLOT_USUAL: int
"""The slot of a field that means more unless it is as usual: a number its default, an array not null; else the frame is
decoded."""

SLOT_ADDRESS: int
"""The slot of a broker's address: by its node ID (4 bytes) the host's bytes and 4 of the port behind them."""

ITEM_NS: int
"""What a broker takes for an item of a request, about, in nanoseconds."""

class Kind(IntEnum):
    """Kinds of an op in a program and of a field in a layout."""

    SKIP = ...
    STRING = ...
    BYTES = ...
    UUID = ...
    ARRAY = ...
    STRUCT = ...
    TAGS = ...
    END = ...
    RECORDS = ...
    BOOL = ...
    INT8 = ...
    INT16 = ...
    UINT16 = ...
    INT32 = ...
    UINT32 = ...
    INT64 = ...
    FLOAT64 = ...
    ADDRESS = ...

class Flag(IntEnum):
    """Flags of an op in a program (up to FIXED) and of a field in a layout (all but FIXED)."""

    COMPACT = ...
    NULLABLE = ...
    FIXED = ...
    LIST = ...
    PRESENT = ...
    TAGGED = ...
    IGNORABLE = ...

class Usually(IntEnum):
    """The slot of an INT16 or INT32 in a `Peek`: what the number nearly always is."""

    ANYTHING = ...
    ZERO = ...
    NOT_ZERO = ...
    NEGATIVE = ...

class Names:
    """One direction of one namespace: what each name is called on the other side.

    Args:
        missing: asked with (slot, name) when the slot's table is None or lacks the name. It may put what
            it answers into the table; the engine does not. None: the frame cannot be rewritten in place.
            It may call the engine.
    """

    tables: list[dict[bytes, bytes] | None]
    """By slot, 1 to 9 (0 is unused): name to replacement; strings as UTF-8, UUIDs as 16 bytes. Then SLOT_ADDRESS."""

    def __init__(self, missing: Callable[[int, bytes], bytes | None]) -> None: ...
    @property
    def missing(self) -> Callable[[int, bytes], bytes | None]:
        """The function given to the constructor."""

class Program:
    """What `rewrite` does with one message at one version.

    Args:
        ops: (kind, flags, slot, a, b), see engine.pyx.
        tags: (tag, index of its first op, or -1 if a slot lies within).
    Raises:
        ValueError: an op points outside the program.
    """

    def __init__(
        self, ops: Sequence[tuple[int, int, int, int, int]], tags: Sequence[tuple[int, int]] = ()
    ) -> None: ...

class Peek(Program):
    """Which numbers near the front of a body `peek` reads."""

class Layout:
    """A message class, or that of a struct, and its fields as they are at one version.

    Args:
        cls: the class; its instances have every field as an attribute.
        name: what errors call it.
        flexible: whether the struct ends with tagged fields (KIP-482).
        fields: (attribute, kind, flags, tag, default, layout of the struct, smallest size of an element in
            bytes). A default of () stands for a fresh list or struct.
    Raises:
        ValueError: a field is incomplete.
    """

    def __init__(
        self,
        cls: type[Struct],
        name: str,
        flexible: bool,
        fields: Sequence[tuple[str, int, int, int, object, Layout | None, int]],
    ) -> None: ...

def untrack(thing: object) -> None:
    """Hide an object from the garbage collector; it must be in no cycle, so it is freed with its last reference.

    A collection visits all other objects, and blocks all connections meanwhile.
    """

def release(layout: Layout, message: Struct, is_deep: bool) -> None:
    """Empty the lists of a message that is no longer needed, in steps; with `is_deep` also those in its structs."""

def count_items(program: Program, frame: bytes | memoryview, start: int, most: int) -> int:
    """Return how many elements the arrays in a body have, all together; lists in tagged fields are not looked at.

    Args:
        program: of the message, without slots.
        frame: without its length.
        start: where the body begins, in bytes.
        most: when there are more, the count stops with any number above it.
    Raises:
        MalformedFrame: the body does not parse.
    """

def keep(frame: bytes | memoryview) -> bytes | memoryview:
    """Return the frame, or a copy of it if its memory will receive other frames."""

def set_pause(pause: Callable[[], None] | None) -> None:
    """Make the engine's loops and `in_steps` call `pause` regularly; None: they never pause.

    It may switch to another greenlet and come back.
    """

def set_pause_steps(steps: int = 64) -> None:
    """Call the function given to `set_pause` after so many rounds of a loop."""

def in_steps(items: Iterable[_T]) -> Iterator[_T]:
    """Yield items, with pauses between them: for loops in Python over the many items of a message."""

def rewrite(
    program: Program,
    frame: bytes | memoryview,
    start: int,
    names: Names,
    head: bytes | None = None,
    allow_trailing: bool = False,
) -> list[bytes | memoryview] | None:
    """Copy a frame with its names replaced.

    Null strings and the zero UUID are left alone; empty strings are looked up like any other.

    Args:
        frame: a frame without its length. Runs of 4096 bytes and more of a `bytes` are not copied but
            leave as memoryviews that keep it alive; views of any other frame are not kept.
        start: where the body begins, in bytes.
        head: the header to send instead of frame[:start].
        allow_trailing: whether bytes may be left over; they are not copied.
    Returns:
        The pieces of the new frame, its 4-byte length included; or None if it has to be decoded: it has an
        unknown tagged field, one with a slot in it, something under SLOT_DECODE, something unusual under
        SLOT_USUAL, or `names` knows no replacement.
    Raises:
        MalformedFrame: the body does not parse, goes on behind its end, or a replacement is too long for a
            string.
        TypeError, ValueError: `names` answered with something that is not bytes, or not 16 for a UUID.
    """

class Passage:
    """How the messages of one API and version are forwarded undecoded.

    Args:
        request, response: None: that one has to be decoded.
        request_flexible, response_flexible: whether the header ends in tagged fields.
        request_peek, response_peek: read fields that decide whether it may pass, from (frame, offset of the body).
        request_usual, response_usual: the same fields; a message in which each is what it usually is may pass.
        drops_trailing: whether bytes behind a request's body are dropped.
    """

    def __init__(
        self,
        request: Program | None,
        response: Program | None,
        request_flexible: bool,
        response_flexible: bool,
        request_peek: Callable[[bytes | memoryview, int], tuple[int, ...]] | None = None,
        response_peek: Callable[[bytes | memoryview, int], tuple[int, ...]] | None = None,
        request_usual: Peek | None = None,
        response_usual: Peek | None = None,
        drops_trailing: bool = False,
    ) -> None: ...

DURATION_BOUNDS_S: tuple[float, ...]
"""Upper bounds of the buckets that durations are counted in, in seconds; one more is for those above."""

TRAFFIC_CELLS: int
"""Numbers of 8 bytes that a Traffic counts in: requests, bytes_received, bytes_sent, duration_ns, and the durations."""

class Traffic:
    """Counts what one tenant's clients sent and received with one API; sizes are of whole frames, in bytes.

    Args:
        memory: where to count, TRAFFIC_CELLS * 8 writable bytes that another process may read; None: its own.
    Raises:
        ValueError: the memory is too small.
    """

    def __init__(self, memory: memoryview | None = None) -> None: ...
    @property
    def requests(self) -> int:
        """The number of requests."""

    @property
    def bytes_received(self) -> int:
        """The size of all requests together."""

    @property
    def bytes_sent(self) -> int:
        """The size of all responses together."""

    @property
    def duration_ns(self) -> int:
        """The duration of all requests that a broker answered together, in nanoseconds."""

    @property
    def durations(self) -> tuple[int, ...]:
        """How many requests a broker answered within each of DURATION_BOUNDS_S, and how many took longer."""

    def receive(self, size: int) -> None:
        """Count a request."""

    def send(self, size: int) -> None:
        """Count an answer of the gateway's own."""

class Spending:
    """The loads that have spent time of the event loop since the last check.

    Args:
        on_due: called with the time, in nanoseconds, when a load spends time at or after `due_ns`.
    """

    spenders: list[Load]
    due_ns: int

    def __init__(self, on_due: Callable[[int], object]) -> None: ...

class Load:
    """How many requests await their answers, and the time they took: of one tenant, and in `whole` of all tenants.

    Args:
        whole: the load of all tenants.
        share: with other processes that count in the same limits: memory of pairs of 8-byte numbers, how many such
            numbers there are from one process's pair to the next, how many processes there are, and which this is.
            Two that take the last place at the same moment exceed the limit, by fewer than there are processes.
    Raises:
        ValueError: the memory is too small.
    """

    most: int
    """The limit, for all processes together."""
    on_room: Callable[[], object] | None
    """Called after an answer while a connection waits, here or in `whole`; must not raise. It is not called for room
    that another process makes: check again from time to time."""

    spending: Spending | None
    """Where spending is noted; None: nowhere."""
    is_over_budget: bool
    """Whether the tenant has used up its time: then there is no room for its requests."""
    throttle_ms: int
    """How long its clients are told to wait then, in milliseconds."""

    def __init__(
        self, whole: Load | None = None, share: tuple[memoryview, int, int, int] | None = None
    ) -> None: ...
    def spend(self, ns: int, now_ns: int) -> int:
        """Note time that the tenant's messages took, or stand for, in nanoseconds."""

    def take_spent(self) -> int:
        """Return what was noted since the last time, in nanoseconds."""

    @property
    def waiting(self) -> int:
        """How many connections wait for room: while there are any, no other connection gets any."""

    @waiting.setter
    def waiting(self, count: int) -> None: ...
    @property
    def has_room(self) -> bool:
        """Whether a further request is within the limit here; connections that wait in this process do not count."""

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""

    @property
    def is_full(self) -> bool:
        """Whether a further request has to wait, here or in `whole`."""

def monotonic_ns() -> int:
    """Return the clock's time that `Awaited` is told, in nanoseconds."""

class Lane:
    """How one tenant's messages of one API and version are treated, and where they are counted.

    With a `usage` it is for one client only, whose requests are also counted there.
    """

    plan: Any
    traffic: Traffic
    load: Load
    usage: Usage | None

    def __init__(self, plan: Any, traffic: Traffic, load: Load, usage: Usage | None = None) -> None: ...

class Awaited:
    """A request that the broker will answer, with the data of the filters when it was decoded.

    It counts in its lane's load from now on until it is finished or abandoned.
    """

    correlation_id: int
    lane: Lane
    exchange: Any

    def __init__(self, correlation_id: int, lane: Lane, exchange: Any, began_ns: int = 0) -> None:
        """Note a request that is sent now; `began_ns` is when the gateway began with it, by `monotonic_ns`."""

    def finish(self, size: int, came_ns: int = 0) -> None:
        """Count the broker's answer, `size` bytes for the client, and the time it took since this was made.

        `came_ns` is when it came, 0 for just now.
        """

    def abandon(self) -> None:
        """Stop counting it in its load, because it was answered or never will be."""

def forward_request(
    lanes: dict[int, Lane],
    frame: bytes | memoryview,
    names: Names,
    queue: deque[Any],
    out: list[bytes | memoryview],
    admits: Callable[[Any, tuple[int, ...]], bool],
    client_prefix: bytes | None = None,
) -> bool:
    """Forward a request if it needs no decision.

    Args:
        lanes: by API key << 16 | API version; the plan of each has a Passage as `passage`.
        queue: gets an Awaited.
        out: gets the pieces of the new frame.
        admits: asked with (plan, fields peeked) when the passage peeks, and a field is not as usual.
        client_prefix: put before the client ID; None leaves it as it is.
    Returns:
        False: nothing was done, the frame takes the long way; so it does while its lane's load is full.
    Raises:
        MalformedFrame: as `rewrite`.
    """

def forward_response(
    queue: deque[Any],
    frame: bytes | memoryview,
    names: Names,
    out: list[bytes | memoryview],
    admits: Callable[[tuple[int, ...]], bool],
) -> bool:
    """Send on the response to the first of `queue`, and the bytes that stand behind it there, likewise."""

class Forwarding:
    """The engine's part of a session: it forwards the frames that need no decision.

    The session fills in its own objects; it decides about every frame for which the answer here is False.
    """

    _lanes: dict[int, Lane]
    """By API key << 16 | API version."""
    _queue: deque[Any]
    """What the broker will answer, each an Awaited, and own answers behind it."""
    _authentication: Any
    """The object that gets frames first; None: the client need not authenticate now."""
    _admits_request: Callable[[Any, tuple[int, ...]], bool]
    _admits_response: Callable[[tuple[int, ...]], bool]
    lookup: frozenset[bytes]
    _held_requests: deque[bytes | memoryview]
    _held_responses: deque[bytes | memoryview]
    _to_physical: Names
    _to_virtual: Names
    _client_id_prefix: bytes | None
    """The prefix that the broker sees before the client ID of each request; None: no prefix."""
    to_client: list[bytes | memoryview]
    to_broker: list[bytes | memoryview]
    _load: Load | None
    """The tenant's load, to which its time is charged; None while the tenant is not known."""
    _max_in_flight: int
    """Requests that may await their answers; from then on the session holds what comes."""

    @property
    def is_passing(self) -> bool:
        """Whether a large request is being forwarded whose rest has not arrived: then the client has to be read."""

    @property
    def awaits_broker(self) -> bool:
        """Whether an answer is awaited, and no rest of a request has still to arrive."""

    def forward_request(self, frame: bytes | memoryview) -> bool:
        """Rewrite a request into `to_broker`, and note what is awaited.

        Returns:
            False, and nothing has changed, when the session has to look at it.

        Raises:
            MalformedFrame: it does not parse.
        """

    def forward_response(self, frame: bytes | memoryview) -> bool:
        """Rewrite the response to what is first awaited into `to_client`, with the own answers that waited for it."""

def prune(program: Program, frame: bytes | memoryview, start: int, prefix: bytes) -> bytes:
    """Return a frame without the elements of its top-level arrays that belong to other tenants.

    Args:
        program: with a slot, any, for each string that says whose the element around it is.
        start: offset of the body; what is before stays.
        prefix: how names begin that stay; null and the empty name stay as well.
    Raises:
        MalformedFrame: the body does not parse.
    """

def peek(peek: Peek, frame: bytes | memoryview, start: int) -> tuple[int, ...]:
    """Read the numbers that `peek` names, in the message's order; bools as False and True.

    Args:
        frame: a frame without its length.
        start: where the body begins, in bytes.
    Raises:
        MalformedFrame: the frame ends before the last of them.
    """

def decode(layout: Layout, frame: bytes | memoryview, start: int, allow_trailing: bool = False) -> Any:
    """Read a message: an instance of the layout's class.

    Fields that the version lacks get their defaults. Unknown tagged fields are skipped and not kept.
    Records of 4096 bytes and more in a `bytes` are memoryviews that keep it alive; everything else is copied.

    Args:
        frame: a frame without its length, or any other bytes.
        start: where the body begins, in bytes.
        allow_trailing: whether bytes may be left over.
    Raises:
        MalformedFrame: the body does not parse, or goes on behind its end.
    """

def encode(layout: Layout, message: Struct, head: bytes) -> bytes:
    """Write a whole frame: 4-byte length, the header `head`, the message.

    Tagged fields are left out while they are at their defaults, as Kafka's own classes do.

    Raises:
        EncodeError: a field cannot be written, see there.
    """

def encode_body(layout: Layout, message: Struct) -> bytes:
    """Write a message alone, for one that is embedded in another.

    Raises:
        EncodeError: a field cannot be written, see there.
    """

def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C of some bytes."""

def encode_records(records: list[tuple[int, bytes | None, bytes]], base_timestamp: int) -> bytes:
    """Return records (timestamp in ms, key, value) encoded as the first records of a batch of format v2."""

def open_stream(
    program: Program,
    frame: bytes | memoryview,
    start: int,
    whole: int,
    names: Names,
    out: list[bytes | memoryview],
) -> int | None:
    """Rewrite the beginning of a large frame, so that the rest can go on as it comes.

    Args:
        program: as for `rewrite`.
        frame: the beginning, without its length.
        start: offset of the body.
        whole: how long the frame is in all.
        names: as for `rewrite`.
        out: gets the pieces of the new frame's beginning, its length first.
    Returns:
        How many zeros end the frame: everything before them is one field. None, and nothing was done: something else
        may follow that has to be looked at, so the frame must be whole first.
    """

def spare_bytes() -> int:
    """Return how much memory is kept for frames to come, of all framers, in bytes; at most 10 MiB."""

def release_spares() -> int:
    """Give back to the system what of that memory has not been needed since the last call; return how many bytes.

    With it goes what malloc keeps, where that is glibc's.
    """

"""A transcript test of a ClientSession, after mitmproxy's: who says what, in order, and nothing else.

    assert (
        Playbook(session)
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
        >> broker_answers(metadata_of(physical_name("acme", "orders")))
        << to_client(metadata_of("orders"))
    )

`>>` feeds the session, `<<` is what it must have done then: everything it did, in this order per side. The transcript
up to the point of failure is part of the failure. The Playbook plays the shell's part as well: it cuts the streams into
frames, ends the session on its exceptions, and meets what the session needs.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bifrost.filters.steps import Need, TopicCount
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.needs import TURN
from bifrost.tenancy.topic_bounds import TopicBounds
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.codec import decode, encode
from bifrost.wire.errors import WireError
from bifrost.wire.fields.entities import served_versions
from bifrost.wire.headers import (
    REQUEST_PREFIX,
    read_request_header,
    request_body_offset,
    response_body_offset,
    response_header,
)
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema
from support.asserts import differences
from support.physical_names import physical_name
from support.stage.look_ups import looked_up_by, meet_look_ups

CLIENT_ID = b"a-client"
PHYSICAL_CLIENT_ID = physical_name("acme", "a-client").encode()


@dataclass
class Asked:
    """A request that was sent and that is not answered yet."""

    api_key: int
    api_version: int
    correlation_id: int


@dataclass
class Transcript:
    """What was said, and what of it is not yet accounted for."""

    lines: list[str] = field(default_factory=list)
    to_broker: deque[bytes] = field(default_factory=deque)
    to_client: deque[bytes] = field(default_factory=deque)
    lookup: frozenset[bytes] = frozenset()
    counts: bool = False
    needs: tuple[Need, ...] = ()
    ended: tuple[CloseReason, str] | None = None

    def fail(self, problem: str) -> None:
        """Fail the test with what led here."""
        waits = [f"!! the session waits for {self.needs}"] if self.needs else []
        raise AssertionError("\n".join(map(_shortened, [*self.lines, f"!! {problem}", *waits])))


def _shortened(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}..."


MAX_LINE = 1000
"""Characters of a line of a transcript that are shown."""

Step = Callable[["Playbook"], str]
"""Plays or checks something, and returns its line of the transcript."""


class Playbook:
    """One client's session and the broker behind it, both played by the test."""

    def __init__(self, session: ClientSession, topic_ids: TopicIds | None = None) -> None:
        """Play with `session`; `topic_ids` is the index that `learns` fills."""
        self.session = session
        self.topic_ids = topic_ids
        self.said = Transcript()
        self.asked_by_client: dict[int, Asked] = {}
        self.asked_of_broker: deque[Asked] = deque()
        self._correlation_id = 0

    def __rshift__(self, step: Step) -> "Playbook":
        self._check_nothing_is_left()
        line = step(self)
        self.said.lines.append(f">> {line}")
        self._collect()
        return self

    def __lshift__(self, step: Step) -> "Playbook":
        line = step(self)
        self.said.lines.append(f"<< {line}")
        return self

    def __bool__(self) -> bool:
        """Whether all was as it should be; what was not has failed already, but for what was not expected."""
        self._check_nothing_is_left()
        return True

    def next_correlation_id(self) -> int:
        """Count as a client does."""
        self._correlation_id += 1
        return self._correlation_id

    def play(self, feed: Callable[[], None], reason: CloseReason) -> None:
        """Feed the session as the shell does; `reason` is the one for bytes that cannot be read."""
        assert self.said.ended is None, "the connection is closed"
        try:
            feed()
            while TURN in self.session.needs:
                self.session.meet(TURN)
        except SessionEnded as ended:
            self.said.ended = (ended.reason, ended.detail)
        except WireError as error:
            self.said.ended = (reason, str(error))

    def _collect(self) -> None:
        session = self.session
        for buffers, frames in (
            (session.to_broker, self.said.to_broker),
            (session.to_client, self.said.to_client),
        ):
            frames.extend(split_frames(b"".join(buffers)))
            buffers.clear()
        self.said.lookup = looked_up_by(session)
        self.said.needs = session.needs
        self.said.counts = TopicCount() in session.needs

    def _check_nothing_is_left(self) -> None:
        said = self.said
        if said.to_broker:
            said.fail(f"went to the broker unexpectedly: {describe_request(said.to_broker[0])}")
        if said.to_client:
            said.fail(f"went to the client unexpectedly: {said.to_client[0]!r}")
        if said.lookup:
            said.fail(f"is looked up unexpectedly: {sorted(said.lookup)}")
        if said.counts:
            said.fail("topics are counted unexpectedly")
        if said.ended is not None:
            said.fail(f"ended unexpectedly: {said.ended}")


# -- what is said


def client_sends(
    message: Message,
    version: int | None = None,
    *,
    client_id: bytes | None = CLIENT_ID,
    header_tags: bytes = b"\0",
    body_tail: bytes = b"",
) -> Step:
    """Let the client send a request, at the newest version that is served unless another is given."""
    schema = message.SCHEMA
    assert schema.api_key is not None

    def step(book: Playbook) -> str:
        used = version
        if used is None:
            served = served_versions(schema.api_key or 0)
            assert served is not None
            used = served.high
        asked = Asked(schema.api_key or 0, used, book.next_correlation_id())
        frame = request_frame(message, used, asked.correlation_id, client_id, header_tags) + body_tail
        book.asked_by_client[asked.correlation_id] = asked
        book.play(lambda: book.session.receive_from_client(frame), CloseReason.MALFORMED)
        return f"client sends v{used} #{asked.correlation_id} {message}"

    return step


def client_sends_frame(frame: bytes) -> Step:
    """Let the client send bytes, without the length before them."""

    def step(book: Playbook) -> str:
        book.play(lambda: book.session.receive_from_client(frame), CloseReason.MALFORMED)
        return f"client sends {frame!r}"

    return step


def broker_answers(
    message: Message, *, correlation_id: int | None = None, header_tags: bytes = b"\0"
) -> Step:
    """Let the broker answer the oldest request that it has not answered; or another, as no broker should."""

    def step(book: Playbook) -> str:
        if not book.asked_of_broker:
            book.said.fail("the broker has nothing to answer")
        asked = book.asked_of_broker.popleft()
        assert message.SCHEMA.api_key == asked.api_key, f"the broker was asked for {asked}"
        number = asked.correlation_id if correlation_id is None else correlation_id
        frame = response_frame(message, asked.api_version, number, header_tags)
        book.play(lambda: book.session.receive_from_broker(frame), CloseReason.BROKER_MISBEHAVED)
        return f"broker answers #{number} {message}"

    return step


def broker_sends_frame(frame: bytes) -> Step:
    """Let the broker send bytes, without the length before them."""

    def step(book: Playbook) -> str:
        if book.asked_of_broker:
            book.asked_of_broker.popleft()
        book.play(lambda: book.session.receive_from_broker(frame), CloseReason.BROKER_MISBEHAVED)
        return f"broker sends {frame!r}"

    return step


def learns(topics: Mapping[bytes, str | None]) -> Step:
    """Let the cluster say whose each topic ID is (None: no topic's), and the session go on."""

    def step(book: Playbook) -> str:
        assert book.topic_ids is not None, "this Playbook has no index of topic IDs"
        for topic_id, name in topics.items():
            if name is not None:
                book.topic_ids.learn(topic_id, name.encode())
        book.play(lambda: meet_look_ups(book.session), CloseReason.MALFORMED)
        return f"the cluster says {dict(topics)}"

    return step


def counted(bounds: TopicBounds | None, topics: Mapping[str, int], default_partitions: int = 1) -> Step:
    """Let the cluster say which topics the tenant has, with their partitions, and the session go on."""

    def step(book: Playbook) -> str:
        assert bounds is not None, "this tenant is not bounded"
        bounds.count({name.encode(): count for name, count in topics.items()}, default_partitions)
        book.play(lambda: book.session.meet(TopicCount()), CloseReason.MALFORMED)
        return f"the cluster has {dict(topics)}"

    return step


# -- what must follow


def to_broker(message: Message, *, client_id: bytes | None = CLIENT_ID) -> Step:
    """Expect a request at the broker: the oldest that is unaccounted for, with this client ID."""

    def step(book: Playbook) -> str:
        if not book.said.to_broker:
            book.said.fail(f"nothing went to the broker, instead of {message}")
        frame = book.said.to_broker.popleft()
        asked, found, found_client_id = read_request(frame)
        compare(book, message, found, asked.api_version, "broker")
        prefix = book.session._namespace.names.client_id_prefix
        if found_client_id != (client_id if prefix is None else prefix + (client_id or b"")):
            book.said.fail(f"the client ID became {found_client_id!r}")
        if not is_acks_0(found):
            book.asked_of_broker.append(asked)
        return f"to broker v{asked.api_version} #{asked.correlation_id} {found}"

    return step


def to_client(message: Message, version: int | None = None) -> Step:
    """Expect a response at the client, to the oldest request that has none; `version` where it is not the request's."""

    def step(book: Playbook) -> str:
        if not book.said.to_client:
            book.said.fail(f"nothing went to the client, instead of {message}")
        frame = book.said.to_client.popleft()
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id not in book.asked_by_client:
            book.said.fail(f"an answer to #{correlation_id}, which is not open: {frame!r}")
        older = [one for one in book.asked_by_client if one < correlation_id]
        if older:
            book.said.fail(f"#{correlation_id} is answered before {older}")
        asked = book.asked_by_client.pop(correlation_id)
        used = asked.api_version if version is None else version
        found = read_response(frame, asked.api_key, used)
        compare(book, message, found, used, "client")
        return f"to client #{correlation_id} {found}"

    return step


def to_client_frame(frame: bytes) -> Step:
    """Expect bytes at the client, without the length before them."""

    def step(book: Playbook) -> str:
        found = book.said.to_client.popleft() if book.said.to_client else None
        if found != frame:
            book.said.fail(f"to the client went {found!r} instead of {frame!r}")
        return f"to client {frame!r}"

    return step


def no_answer() -> Step:
    """Expect that the last request gets no answer (acks=0)."""

    def step(book: Playbook) -> str:
        asked = book.asked_by_client.popitem()
        return f"no answer to #{asked[0]}"

    return step


def looks_up(topic_ids: set[bytes]) -> Step:
    """Expect that the session waits for the owners of these topic IDs, and of no others."""

    def step(book: Playbook) -> str:
        if book.said.lookup != topic_ids:
            book.said.fail(f"looked up {sorted(book.said.lookup)} instead of {sorted(topic_ids)}")
        book.said.lookup = frozenset()
        return f"looks up {sorted(topic_ids)}"

    return step


def counts() -> Step:
    """Expect that the session waits for a count of the tenant's topics."""

    def step(book: Playbook) -> str:
        if not book.said.counts:
            book.said.fail("the topics are not counted")
        book.said.counts = False
        return "counts"

    return step


def ends(reason: CloseReason, detail: str = "") -> Step:
    """Expect that the connection is closed for this reason; `detail` is part of the text that says why."""

    def step(book: Playbook) -> str:
        ended = book.said.ended
        if ended is None or ended[0] is not reason or detail not in ended[1]:
            book.said.fail(f"the end was {ended} instead of {reason}: {detail}")
        book.said.ended = None
        return f"ends: {reason}"

    return step


def holds(*, requests: bool = False, responses: bool = False) -> Step:
    """Expect that the shell is told to stop reading requests, responses, both or neither."""

    def step(book: Playbook) -> str:
        found = (book.session.is_holding, book.session.is_holding_responses)
        if found != (requests, responses):
            book.said.fail(f"holds (requests, responses): {found} instead of {(requests, responses)}")
        return f"holds {found}"

    return step


# -- frames


def request_frame(
    message: Message,
    version: int,
    correlation_id: int,
    client_id: bytes | None = CLIENT_ID,
    header_tags: bytes = b"\0",
) -> bytes:
    """Write a request as a client does, without the length before it."""
    schema = message.SCHEMA
    size = -1 if client_id is None else len(client_id)
    head = REQUEST_PREFIX.pack(schema.api_key, version, correlation_id, size) + (client_id or b"")
    if schema.request_header_version(version) >= 2:
        head += header_tags
    return encode(compile_layout(schema.name, version), message, head)[4:]


def response_frame(message: Message, version: int, correlation_id: int, header_tags: bytes = b"\0") -> bytes:
    """Write a response as a broker does, without the length before it."""
    schema = message.SCHEMA
    head = response_header(correlation_id, False)
    if schema.response_header_version(version) >= 1:
        head += header_tags
    return encode(compile_layout(schema.name, version), message, head)[4:]


def read_request(frame: bytes) -> tuple[Asked, Any, bytes | None]:
    """Read a request with its header; also the client ID."""
    header = read_request_header(frame)
    schema = request_schema(header.api_key)
    is_flexible = schema.request_header_version(header.api_version) >= 2
    offset, other_head = request_body_offset(frame, header.client_id_length, is_flexible)
    assert other_head is None, "a header with tagged fields was sent on"
    size = header.client_id_length
    client_id = None if size < 0 else frame[REQUEST_PREFIX.size : REQUEST_PREFIX.size + size]
    asked = Asked(header.api_key, header.api_version, header.correlation_id)
    return asked, decode(compile_layout(schema.name, header.api_version), frame, offset), client_id


def read_response(frame: bytes, api_key: int, version: int) -> Any:
    """Read a response to a request of this API and version."""
    schema = response_schema(api_key)
    offset, other_head = response_body_offset(frame, schema.response_header_version(version) >= 1)
    assert other_head is None, "a header with tagged fields was sent on"
    return decode(compile_layout(schema.name, version), frame, offset)


def split_frames(stream: bytes) -> list[bytes]:
    """Cut a stream into frames, without their lengths."""
    frames = []
    while stream:
        size = int.from_bytes(stream[:4], "big")
        assert len(stream) >= 4 + size, "the stream ends within a frame"
        frames.append(stream[4 : 4 + size])
        stream = stream[4 + size :]
    return frames


def describe_request(frame: bytes) -> str:
    """Show a request."""
    asked, message, _client_id = read_request(frame)
    return f"v{asked.api_version} #{asked.correlation_id} {message}"


def is_acks_0(request: Any) -> bool:
    """Whether a request is a Produce that has no response."""
    return request.SCHEMA.name == "ProduceRequest" and request.acks == 0


def compare(book: Playbook, expected: Message, found: Any, version: int, side: str) -> None:
    """Fail where a message is not the expected one, as far as this version can say it."""
    layout = compile_layout(expected.SCHEMA.name, version)
    if expected.SCHEMA.name != found.SCHEMA.name:
        book.said.fail(f"to the {side} went {found} instead of {expected}")
    sayable = decode(layout, encode(layout, expected, b""), 4)
    lines = differences(sayable, found)
    if lines:
        book.said.fail("\n   ".join([f"{expected.SCHEMA.name} v{version} to the {side} differs:", *lines]))

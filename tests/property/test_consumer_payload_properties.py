"""Whatever bytes a member sends: refused, or exactly the encoding of its names with the tenant's prefix.

The expectation is made by a reader and a writer of this file, which share nothing with the engine.
"""

import struct
from dataclasses import dataclass, field

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bifrost.filters import namespace as translation
from bifrost.filters.groups.consumer_payload import ASSIGNMENT, SUBSCRIPTION, MalformedPayload, translate
from bifrost.tenancy.namespace import Namespace
from support.physical_names import physical_name, prefix_of
from support.stage.stage import Stage

PREFIX = prefix_of("initech")
INITECH: Namespace = Stage().namespaces["initech"]
"""A tenant for which every topic exists that has a name at all."""
ASSIGNORS = ["range", "sticky", "cooperative-sticky", "stream"]

thorough = settings(max_examples=max(600, settings().max_examples))

Partitions = list[tuple[str, list[int]]]


class Refused(Exception):
    """The bytes are no payload."""


@dataclass
class Reader:
    """Reads bytes one field after the other, and refuses what is not there."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise Refused
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def text(self) -> str:
        try:
            return self.take(self.number(">h")).decode()
        except UnicodeDecodeError:
            raise Refused from None

    def count(self, smallest: int) -> int:
        count = self.number(">i")
        if count < 0 or count * smallest > len(self.data):
            raise Refused
        return count

    def partitions(self) -> Partitions:
        return [
            (self.text(), [self.number(">i") for _ in range(self.count(4))]) for _ in range(self.count(6))
        ]

    def optional_bytes(self) -> bytes | None:
        size = self.number(">i")
        return None if size == -1 else self.take(size)

    def end(self) -> None:
        if self.at != len(self.data):
            raise Refused


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def partitions(values: Partitions) -> bytes:
    """Write topics with their partitions, and the tenant's prefix before each."""
    out = struct.pack(">i", len(values))
    for topic, numbers in values:
        out += text(physical(topic)) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return out


def optional_bytes(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def physical(topic: str) -> str:
    return PREFIX + ("/" if not topic or topic.startswith("/") else "") + topic


@dataclass
class Fields:
    """A subscription as it was read."""

    topics: list[str]
    user_data: bytes | None
    owned: Partitions = field(default_factory=list)
    generation: int = -1
    rack: str | None = None


def read_subscription(version: int, body: bytes, *, exact: bool) -> Fields:
    reader = Reader(body)
    fields = Fields([reader.text() for _ in range(reader.count(2))], reader.optional_bytes())
    if version == 1 and reader.at == len(body):
        return fields
    if version >= 1:
        fields.owned = reader.partitions()
    if version >= 2:
        fields.generation = reader.number(">i")
    if version >= 3:
        size = reader.number(">h")
        if size != -1:
            try:
                fields.rack = reader.take(size).decode()
            except UnicodeDecodeError:
                raise Refused from None
    if exact:
        reader.end()
    return fields


def expected_user_data(data: bytes | None, assignor: str) -> bytes | None:
    if not data or "sticky" not in assignor:
        return data
    for generation in (4, 0):
        reader = Reader(data)
        try:
            previous = reader.partitions()
            rest = reader.take(generation)
            reader.end()
        except Refused:
            continue
        return partitions(previous) + rest
    return data if len(data) == 4 and assignor.startswith("cooperative") else None


def expected(payload: bytes, kind: str, assignor: str) -> bytes:
    """Return what a payload becomes.

    Raises:
        Refused: it is none.
    """
    if not payload:
        return b""
    given_version = Reader(payload).number(">h")
    if given_version < 0:
        raise Refused
    version = min(given_version, 3)
    body, is_exact = payload[2:], given_version == version
    out = struct.pack(">h", version)
    if kind == ASSIGNMENT:
        reader = Reader(body)
        assigned, data = reader.partitions(), reader.optional_bytes()
        if is_exact:
            reader.end()
        return out + partitions(assigned) + optional_bytes(data)
    fields = read_subscription(version, body, exact=is_exact)
    out += struct.pack(">i", len(fields.topics)) + b"".join(text(physical(topic)) for topic in fields.topics)
    out += optional_bytes(expected_user_data(fields.user_data, assignor))
    if version >= 1:
        out += partitions(fields.owned)
    if version >= 2:
        out += struct.pack(">i", fields.generation)
    if version >= 3:
        out += struct.pack(">h", -1) if fields.rack is None else text(fields.rack)
    return out


names = st.sampled_from(
    ["orders", "", "/x", physical_name("globex", "users"), physical_name("initech", "a"), "é"]
) | st.text(max_size=4)
int32 = st.integers(-(2**31), 2**31 - 1)
some_partitions = st.lists(st.tuples(names, st.lists(int32, max_size=3)), max_size=3)
raw_partitions = some_partitions.map(partitions)


@st.composite
def user_data(draw: st.DrawFn) -> bytes | None:
    sticky = st.tuples(raw_partitions, st.sampled_from([b"", b"\0\0\0\7", b"\xff\xff\xff\xff"])).map(b"".join)
    return draw(st.none() | st.binary(max_size=12) | sticky | mutated(sticky))


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    version = draw(st.sampled_from([0, 1, 2, 3, 4, 32767, -1, -32768]))
    out = struct.pack(">h", version)
    if draw(st.booleans()):
        return out + draw(raw_partitions) + optional_bytes(draw(user_data()))
    topics = draw(st.lists(names, max_size=3))
    out += struct.pack(">i", len(topics)) + b"".join(map(text, topics)) + optional_bytes(draw(user_data()))
    parts = [
        draw(raw_partitions),
        struct.pack(">i", draw(int32)),
        draw(st.just(b"\xff\xff") | names.map(text)),
    ]
    # As many of the later fields as some version has, whatever this one's number is.
    return out + b"".join(parts[: draw(st.integers(0, 3))])


@st.composite
def mutated(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    data = draw(whole)
    at = draw(st.integers(0, len(data)))
    match draw(st.sampled_from(["cut", "insert", "replace", "append"])):
        case "cut":
            return data[:at]
        case "insert":
            return data[:at] + draw(st.binary(min_size=1, max_size=4)) + data[at:]
        case "replace":
            return data[:at] + draw(st.sampled_from([b"\xff", b"\x80", b"\0", b"\x7f"])) + data[at + 1 :]
        case _:
            return data + draw(st.binary(min_size=1, max_size=30))


anything = payloads() | mutated(payloads()) | st.binary(max_size=40)


@thorough
@given(anything, st.sampled_from([SUBSCRIPTION, ASSIGNMENT]), st.sampled_from(ASSIGNORS))
@example(b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xffx", SUBSCRIPTION, "range")
@example(b"\0\0\0\0\0\1\0\2\xff\xfe\xff\xff\xff\xff", SUBSCRIPTION, "range")
@example(b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff", SUBSCRIPTION, "range")
def test_a_payload_is_refused_or_written_anew_with_the_tenants_names(
    payload: bytes, kind: str, assignor: str
) -> None:
    try:
        wanted = expected(payload, kind, assignor)
    except Refused:
        wanted = None

    try:
        found = translate(payload, kind, translation.to_physical, INITECH, assignor=assignor)
    except MalformedPayload:
        found = None

    assert found == wanted


@thorough
@given(anything, st.sampled_from([SUBSCRIPTION, ASSIGNMENT]), st.sampled_from(ASSIGNORS))
def test_what_was_sent_on_comes_back_as_it_was_understood(payload: bytes, kind: str, assignor: str) -> None:
    try:
        sent = translate(payload, kind, translation.to_physical, INITECH, assignor=assignor)
    except MalformedPayload:
        return

    returned = translate(sent, kind, translation.to_virtual, INITECH, assignor=assignor)

    assert translate(returned, kind, translation.to_physical, INITECH, assignor=assignor) == sent
    assert PREFIX.encode() not in returned or PREFIX.encode() in payload

"""Types and contract of splits; split.pyx explains how they work."""

from collections.abc import Sequence

from bifrost.routes.leaders import LeaderTable
from bifrost.routes.shape import Shape
from bifrost.routes.template import Template
from bifrost.wire.framer import MemoryLimit

Buffer = bytes | memoryview

class Split:
    """A request by topic and partition, and what came back for each.

    Args:
        request: shape of the request.
        template: of its response.
        segments: the whole frame, with its length; they are kept.
        start: where the body begins, from the frame's beginning.
        most: topics and partitions that are read now; `go_on` reads the others, before anything else is asked.
    Raises:
        MalformedFrame: the body does not parse.
    """

    partitions: int
    """How many partitions the request names."""
    data_bytes: int
    """Bytes of records in the answers taken so far."""
    has_error: bool
    """Whether a partition's answer has an error."""
    has_absent: bool
    """Whether it names partitions that the metadata does not have."""

    memory: int
    """Bytes that are held for it, besides answers."""

    is_open: bool
    """Whether topics and partitions of the request are not read yet."""

    def __init__(
        self, request: Shape, template: Template, segments: list[Buffer], start: int, most: int = ...
    ) -> None: ...
    def go_on(self, most: int = ...) -> bool:
        """Read so many more topics and partitions, all if it is not given; return whether there are others.

        Raises:
            MalformedFrame: the body does not parse.
        """

    def behind(self, shape: Shape) -> Split:
        """Return what the fields after the topics list, by a shape of these.

        Raises:
            MalformedFrame: they do not parse so.
        """

    @property
    def before(self) -> bytes:
        """The fields before the topics."""

    def lead(
        self, table: LeaderTable, elsewhere: int, now_ms: int, most: int = ..., is_by_id: bool = False
    ) -> list[bytes]:
        """Decide where each partition goes.

        What the metadata does not have goes nowhere: its answer is UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID, as
        at a broker, which would take 20 to 40 us of CPU time for each. That of a topic that was not looked up is
        NOT_LEADER_OR_FOLLOWER.

        Args:
            table: the leaders.
            elsewhere: the broker that gets partitions without a leader, if none of their topic has one; it has Kafka's
                error for them.
            now_ms: the time, by the clock of the table.
            most: how many topics are returned at most; all if it is not given.
            is_by_id: whether the request names topics by their IDs.
        Returns:
            The topics to look up: unknown ones, those that have lacked a leader for a second, and those known for long.
        """

    def place(self, node: int, is_sure: bool) -> None:
        """Let all partitions go to one broker.

        Args:
            node: the broker.
            is_sure: whether it was learnt lately that it leads them.
        """

    def nodes(self) -> list[int]:
        """Return the brokers that get a part, in the order of their first partition."""

    def part(
        self, node_id: int, changes: Sequence[tuple[int, bytes]] = (), after: bytes | None = None
    ) -> list[Buffer]:
        """Return the frame for one broker; records are slices of the request's own memory.

        Args:
            node_id: the broker.
            changes: fields before the topics that get another value: offset from the body's beginning, value.
            after: what replaces the fields after the topics.
        """

    def take(self, node_id: int, frame: Buffer, start: int) -> None:
        """Note what a broker has answered; the frame, without its length, is kept.

        Args:
            node_id: the broker.
            frame: the answer, in memory that stays as it is.
            start: where the body begins.
        Raises:
            MalformedFrame: the body does not parse.
        """

    def fail(self, node_id: int, error_code: int) -> None:
        """Let this error be the answer for each partition of this broker that has none yet."""

    def covers(self, later: Split, node_id: int) -> bool:
        """Whether this request asks the broker for all that a later one does, each partition in the same words."""

    def adopt(self, earlier: Split, node_id: int) -> None:
        """Take over what the broker has answered to an earlier request, for partitions asked for in the same words.

        The earlier request has no answers of this broker any more.
        """

    def carry(self, earlier: Split) -> None:
        """Take over the watermarks that answers to an earlier request had, and what its client was told."""

    def release(self) -> None:
        """Drop all answers; the watermarks in them stay known."""

    def stale(self) -> list[bytes]:
        """Return the topics whose leaders are others than the table says, by the errors in the answers."""

    def merged(
        self,
        head: bytes,
        fills: bool = False,
        session_id: int = 0,
        only_changed: bool = False,
        room: MemoryLimit | None = None,
    ) -> Buffer:
        """Return the answer as one frame without its length.

        Args:
            head: the header of the response.
            fills: whether partitions without an answer are in it, with no error and no records; else they are left
                out.
            session_id: of Fetch, the client's session (KIP-227); 0: it has none.
            only_changed: whether the answer has only partitions with something new for the client of the session.
            room: where a large answer is counted until its memory is free. It takes over the room of the answers that
                it is made of, which are given up: `release` has to follow.
        """

"""Types and contract of split requests; split_request.pyx explains what they are for."""

from bifrost.routes.split import Split

Buffer = bytes | memoryview

EARLY_S: float
"""How long before the timeout of a request its client has an answer at the latest; less if the timeout is short."""

EARLY_PART: int
"""That is no more than one part in so many of the timeout."""

LEAST_S: float
"""A broker always has so long: the timeout of a Produce bounds how long Kafka waits for replicas, and may be 0."""

LATE_S: float
"""How long a broker's connection is kept after its client was answered without it: at the request's timeout the broker
itself gives up, and tells so."""

MAX_TIMEOUT_S: float
"""Bounds the timeout that a request can ask for."""

ANSWER_TIMEOUT_S: float
"""How long a broker's answer may take: Kafka's default of `default.api.timeout.ms`, after which a client gives up."""

MANY_ITEMS: int
"""So many partitions take part of a millisecond to take apart, or to put together."""

class SplitRequest:
    """A request by partition that was taken apart, and the place of its answer.

    Args:
        split: the request, with a broker for each partition.
        head: the header of its answer.
        is_produce: whether it says if it is answered, and how long the answer may take.
        is_by_id: whether topics are named by their IDs (KIP-516).
        has_timeout_behind: whether the fields after its topics begin with a timeout.
    """

    split: Split
    is_answered: bool
    """Whether brokers answer it: not a Produce with `acks=0`."""
    is_by_id: bool
    has_timeout: bool
    """Whether it says how long its answer may take."""
    timeout_s: float
    """How long a broker may take until the client is answered without it."""
    answer: Buffer | None
    """The answer, a frame without its length; None: it has not come yet."""

    def __init__(
        self,
        split: Split,
        head: bytes,
        *,
        is_produce: bool,
        is_by_id: bool,
        has_timeout_behind: bool = False,
    ) -> None: ...
    def parts(self, elsewhere: int) -> list[tuple[int, list[Buffer]]]:
        """Return the brokers that get a part, and its frame; from now on so many answers are awaited.

        There is none if the metadata has no partition of the request.

        Args:
            elsewhere: the broker that gets a request without partitions.
        """

    def take(self, node: int, frame: Buffer | None, may_be_done: bool) -> bool:
        """Take the answer of a broker; return whether it was the last.

        Args:
            node: the broker.
            frame: the answer without its length, in memory that stays as it is; None: it is lost.
            may_be_done: whether the broker may have had the part.
        Raises:
            MalformedFrame: the answer does not parse.
        """

    def merged(self) -> Buffer:
        """Return the client's answer, a frame without its length."""

class SentPart:
    """What awaits the answer of one broker.

    Args:
        whole: the request.
        node: the broker.
    """

    whole: SplitRequest
    node: int

    def __init__(self, whole: SplitRequest, node: int) -> None: ...

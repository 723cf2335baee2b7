"""Types and contract of straight requests; straight.pyx explains what they are for."""

from collections.abc import Callable

from bifrost.routes.leaders import LeaderTable
from bifrost.routes.shape import Shape
from bifrost.routes.split_request import SplitRequest
from bifrost.routes.template import Template

Buffer = bytes | memoryview

class StraightWay:
    """What is the same for all requests of an API and version.

    Args:
        request: shape of the request.
        template: of the response.
        has_request_tags: whether the request's header has tagged fields.
        has_response_tags: whether the response's header has them.
        is_by_id: whether topics are named by their IDs (KIP-516).
        is_produce: whether the request says if it is answered, and how long the answer may take.
        has_timeout_behind: whether the fields after its topics begin with a timeout.
    """

    def __init__(
        self,
        request: Shape,
        template: Template,
        *,
        has_request_tags: bool,
        has_response_tags: bool,
        is_by_id: bool,
        is_produce: bool,
        has_timeout_behind: bool = False,
    ) -> None: ...

class StraightRequest:
    """A request that one broker gets as it is, and the place of its answer; `StraightRoutes.read` makes them."""

    segments: list[Buffer]
    """The frame as the session has written it, without records once it is sent; given up when the answer is taken."""
    node: int
    """The broker that leads all its partitions."""
    timeout_ms: int
    """How long the broker may take for a Produce, at least 0; -1 for another API."""
    is_answered: bool
    """Whether the broker answers it: not a Produce with `acks=0`."""
    is_sure: bool
    """Whether the leaders were learnt so lately that none of them is a follower by now."""
    answer: Buffer | None
    """The answer, a frame without its length; None: it has not come yet."""

    def let_go(self) -> int:
        """Drop the records of a Produce, which are sent: its answer is compared with the rest."""

    def take(self, frame: Buffer) -> bool:
        """Take the broker's answer as it is; False: it has an error, a tagged field or another order, or is malformed.

        Args:
            frame: the answer without its length.
        """

class StraightRoutes:
    """Finds the broker of such requests.

    Args:
        by_name: the leaders, by the topics' names.
        by_id: likewise by their IDs.
        find_way: returns the way of an API key and version, None: it has none. The answers are remembered.
    """

    def __init__(
        self,
        by_name: LeaderTable,
        by_id: LeaderTable,
        find_way: Callable[[int, int], StraightWay | None],
    ) -> None: ...
    def read(self, segments: list[Buffer], now_ms: int) -> StraightRequest | SplitRequest | None:
        """Return a request whose partitions all have leaders that are known; None: it is another one.

        With the same leader for all it goes straight; one with several leaders is taken apart, unless it names more
        than 64 partitions.

        Args:
            segments: the whole frame, with its length; they are kept.
            now_ms: the time, by the clock of the tables.
        """

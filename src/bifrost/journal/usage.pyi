"""Types and contract of the journal's counters; usage.pyx explains how they work."""

from collections.abc import Callable
from typing import Any

from bifrost.wire.program import Program

GATEWAY_TIME_BOUNDS_US: tuple[int, ...]
"""Upper bounds of the buckets that a Usage counts the gateway's own time in, in microseconds; one more is above."""

class Tally(Program):
    """What is counted in one message at one version: see usage.pyx, and tallies.py, which compiles it."""

class TopicUsage:
    """What one client's messages of one API and version amount to for one topic.

    Args:
        key: any value by which its maker identifies the topic.
        on_use: called whenever the topic is named in what is counted, None for nothing.
        is_folded: whether it stands for many, whose names are not remembered.
    """

    key: Any

    def __init__(
        self, key: Any, on_use: Callable[[], object] | None = None, is_folded: bool = False
    ) -> None: ...
    def take(
        self,
    ) -> tuple[int, int, int, int, int, list[tuple[int | None, int, int, int, int, int, int, int]]]:
        """Return requests, errors, bytes in, bytes out and control batches; and for each codec and acks there were:
        acks (None: fetched), codec (5: unknown), batches, records, bytes, and of the batches the idempotent and
        transactional ones and those of the old formats."""

class Usage:
    """What one client's messages of one API and version amount to, until they are taken.

    Args:
        client_id: as its requests say it; those of another are not its.
        request, response: what is counted in them; None: nothing of what stands within.
        is_fetch: whether topics are counted where the response names them, and records are waited for.
        resolve: asked with (the usage, Entity of a topic's name or ID, that, whether it is physical) for the
            TopicUsage of a topic that was not named since what was counted was taken.
        is_of_any_client: whether requests are counted whatever client ID they say.
    """

    client_id: bytes | None
    topics: dict[Any, TopicUsage]
    """The topics by keys that `resolve` chooses: it puts them here."""
    resolve: Callable[[Usage, int, bytes, bool], TopicUsage]
    in_flight: int
    """Requests that await a broker's answer: until then this object must be kept."""

    def __init__(
        self,
        client_id: bytes | None,
        request: Tally | None,
        response: Tally | None,
        is_fetch: bool,
        resolve: Callable[[Usage, int, bytes, bool], TopicUsage],
        is_of_any_client: bool = False,
    ) -> None: ...
    def count_request(self, frame: bytes | memoryview, start: int) -> None:
        """Count a request that was taken: a frame without its length, whose body begins at `start`.

        Raises:
            MalformedFrame: it does not parse; what stood before that is counted.
        """

    def count_response(self, frame: bytes | memoryview, start: int, is_physical: bool) -> None:
        """Count what stands in a response, which names topics as the broker does or as the client does; as above."""

    def answer(self, size: int) -> None:
        """Count an answer of the gateway's own, of so many bytes."""

    def take(
        self,
    ) -> (
        tuple[
            int,
            int,
            int,
            int,
            int,
            int,
            int,
            int,
            tuple[int, ...],
            int,
            dict[int, int],
            dict[Any, TopicUsage],
        ]
        | None
    ):
        """Return what was counted since this was last asked, None when nothing was: requests, responses, errors, bytes
        in and out, throttle time in ms, the broker's and the gateway's time in us, how often the latter was within
        each of GATEWAY_TIME_BOUNDS_US or above, empty fetches, error codes and topics."""

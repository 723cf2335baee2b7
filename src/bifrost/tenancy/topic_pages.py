"""How much of a broker's list of topics is asked for to see one tenant's, and when that is not worth it.

The list is sorted, so the tenant's stand together and what comes behind them on the last page is somebody else's: the
smaller the page, the less of that; the larger, the fewer pages. What a tenant has changes slowly, so the size that did
last time is where the next begins.
"""

FIRST_PAGE = 100
"""Partitions on a first page: most tenants' topics, and some 10 KB of others'."""

LARGEST_PAGE = 2_000
"""Partitions on any page: a broker gives no more unless it is told to (max.request.partition.size.limit)."""

MAX_TOPICS = 10_000
"""Of one tenant, listed: with more of its own, the others' matter less than naming each of them."""

MAX_PAGES = 32
"""Of one list: 60,000 partitions."""

LISTED_LIMIT = "listed_topics"
"""What the metrics call the two, beside the settings that are limits."""

LOWEST_NAME = b"-"
"""The first topic name in the order of the list: no legal character is lower. Appended to a name it gives the next."""

PASSES = 16
"""Requests that ask for all topics at once after a list was given up, before the next is tried."""


class TopicPages:
    """What is known of the size of one tenant's list."""

    __slots__ = ("_first", "_passes")

    def __init__(self) -> None:
        """Know nothing."""
        self._first = FIRST_PAGE
        self._passes = 0

    def is_worth_it(self) -> bool:
        """Whether to list: not for some requests after a list was given up. Counts the request."""
        if self._passes > 0:
            self._passes -= 1
            return False
        return True

    def size(self, page: int) -> int:
        """Return how many partitions the page with this number, from 0 on, is to have."""
        return min(LARGEST_PAGE, self._first << min(page, 10))

    def finished(self, pages: int, own: int, foreign: int) -> None:
        """Note a list of so many pages, which had so many own topics and others'."""
        if pages > 1:
            self._first = min(LARGEST_PAGE, self._first << min(pages, 10))
        elif foreign > own:
            self._first = max(FIRST_PAGE, self._first // 2)

    def gave_up(self) -> None:
        """Note that the list is too long, or was not to be had."""
        self._passes = PASSES

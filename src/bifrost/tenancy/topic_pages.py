"""How much of a broker's list of topics to request for one tenant's, and when listing is not worth it.

The list is sorted, so the tenant's topics are adjacent and the last page ends with other tenants' topics: the smaller
the page, the fewer of those; the larger, the fewer pages. A tenant's topics change slowly, so the next list starts with
the size that was enough last time.
"""

from bifrost.tenancy.names import PhysicalTopic

FIRST_PAGE = 100
"""Partitions on a first page: most tenants' topics, and some 10 KB of others'."""

LARGEST_PAGE = 2_000
"""Partitions on any page: a broker gives no more unless it is told to (max.request.partition.size.limit)."""

MAX_TOPICS = 10_000
"""Most topics of one tenant that are listed: with more, naming each costs more than reading the other tenants'."""

MAX_PAGES = 32
"""Most pages of one list: 60,000 partitions."""

LISTED_LIMIT = "listed_topics"
"""The name of both bounds in the metrics, beside the settings that are limits."""

LOWEST_NAME = b"-"
"""The first topic name in the order of the list: no legal character is lower."""

PASSES = 16
"""Requests that ask for all topics at once after a list was given up, before the gateway tries the next list."""


def next_name(topic: PhysicalTopic) -> PhysicalTopic:
    """Return the lowest possible name after this one in the order of the list."""
    return PhysicalTopic(topic + LOWEST_NAME)


class TopicPages:
    """The known size of one tenant's list."""

    __slots__ = ("_first", "_passes")

    def __init__(self) -> None:
        """Start without a known size."""
        self._first = FIRST_PAGE
        self._passes = 0

    def is_worth_it(self) -> bool:
        """Whether to list: not for PASSES requests after a list was given up. Counts the request."""
        if self._passes > 0:
            self._passes -= 1
            return False
        return True

    def size(self, page: int) -> int:
        """Return how many partitions the page with this number, from 0 on, is to have."""
        return min(LARGEST_PAGE, self._first << min(page, 10))

    def finished(self, pages: int, own: int, foreign: int) -> None:
        """Note the number of pages of a list, and of the tenant's own and of foreign topics on them."""
        if pages > 1:
            self._first = min(LARGEST_PAGE, self._first << min(pages, 10))
        elif foreign > own:
            self._first = max(FIRST_PAGE, self._first // 2)

    def gave_up(self) -> None:
        """Note that the list is too long or could not be read."""
        self._passes = PASSES

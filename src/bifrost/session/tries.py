"""How often one message may need another look-up of topic IDs."""

from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.tenancy.topic_ids import MAX_LOOK_UP

MAX_TRIES = 3
"""Times a message is tried again after a look-up. One is enough, unless so many IDs are asked for at once by
everybody that those of this message are forgotten in between."""


class Tries:
    """Counts the tries of the message at the head of those that are held."""

    def __init__(self) -> None:
        """Start with the first message."""
        self._count = 0

    def count(self, *, needs_another: bool) -> None:
        """Note that a message was tried: it went on, or it needs another look-up.

        Raises:
            SessionEnded: it was tried too often.
        """
        self._count = self._count + 1 if needs_another else 0
        if self._count > 1 + MAX_TRIES:  # the first one comes before any look-up
            detail = f"one message still names unknown topic IDs after {MAX_TRIES} look-ups"
            raise SessionEnded(CloseReason.TOO_MANY_TOPIC_IDS, detail)


def bounded(topic_ids: frozenset[bytes]) -> frozenset[bytes]:
    """Return the unknown topic IDs of one message, which are to be looked up.

    Raises:
        SessionEnded: there are too many.
    """
    if len(topic_ids) > MAX_LOOK_UP:
        detail = f"one message names {len(topic_ids)} unknown topic IDs, more than {MAX_LOOK_UP}"
        raise SessionEnded(CloseReason.TOO_MANY_TOPIC_IDS, detail)
    return topic_ids

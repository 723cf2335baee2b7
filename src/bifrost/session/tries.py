"""Limits how often one message may need another look-up of topic IDs."""

from bifrost.session.close_reason import CloseReason, SessionEnded

MAX_TRIES = 3
"""Most times a message is tried again after a look-up. Usually it takes one; two if it names many unknown IDs of which
few are not the tenant's; more only if IDs are forgotten in between, because the tenant asks for very many at once."""


class Tries:
    """Counts the tries of the first held message."""

    def __init__(self) -> None:
        """Start with the first message."""
        self._count = 0

    def count(self, *, needs_another: bool) -> None:
        """Note that a message was tried: it went on, or it needs another look-up.

        Raises:
            SessionEnded: the message was tried too often.
        """
        self._count = self._count + 1 if needs_another else 0
        if self._count > 1 + MAX_TRIES:  # the first one comes before any look-up
            detail = f"one message still names unknown topic IDs after {MAX_TRIES} look-ups"
            raise SessionEnded(CloseReason.TOO_MANY_TOPIC_IDS, detail)

"""Types and contract of whole Fetch requests of sessions; session_frame.pyx explains how they are made."""

from bifrost.routes.split import Split

def whole_fetch(asked: Split, kept: Split, forgotten: Split | None, after: bytes) -> bytes:
    """Return the frame of a Fetch that names all partitions of a session, with its length.

    Args:
        asked: the request, of the session's version; its header and the fields before the topics are taken over.
        kept: the whole Fetch before it, with what was answered last.
        forgotten: the partitions that leave the session; None: none do.
        after: the fields after the topics.
    """

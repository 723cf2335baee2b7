"""Errors in the bytes from a peer, and in a message that the gateway should write.

`WireError` is the first of Bifrost's four kinds of error: the peer broke the protocol, and its connection is closed
with the reason. `EncodeError` is the gateway's own: it built a message that cannot be written at that version. Errors
that Kafka itself reports (unknown topic, denied) are data, and never come from here.
"""


class WireError(ValueError):
    """The peer broke the protocol.

    Attributes:
        reason: what was wrong, in a few words and without any content of the frame.
        offset: the place: the byte of the frame, or for a frame's length the byte of the stream.
    """

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason, offset)
        self.reason = reason
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.reason} at byte {self.offset}"


class MalformedFrame(WireError):
    """A frame's body does not parse; `offset` is the byte of the frame where reading failed."""


class FrameTooLarge(WireError):
    """A frame announces a length that is negative, zero or above the limit.

    Attributes:
        size: the announced length in bytes.
        limit: the largest length accepted then, in bytes.
    """

    def __init__(self, size: int, limit: int, offset: int) -> None:
        super().__init__(f"frame length {size} is not within 1..{limit}", offset)
        self.args = (size, limit, offset)
        self.size = size
        self.limit = limit


class EncodeError(ValueError):
    """A message cannot be written at this version; the text names message and field.

    Raised for None in a non-nullable field, a value of the wrong type or out of range, and a value other than
    the default in a field that this version lacks and that is not ignorable.
    Source: Kafka's generated `write` methods (UnsupportedVersionException, NullPointerException).
    """

"""Type and contract of answers in place; in_place.pyx explains them."""

from bifrost.routes.split import Split

Buffer = bytes | memoryview

def answer_in_place(split: Split, head: bytes, *, fills: bool, session_id: int) -> Buffer | None:
    """Return the answer to a Fetch in the memory of a broker's answer, which is changed; None: it has to be copied.

    That is possible when one large frame has all partitions that were answered, and no others, without an error, behind
    it there is room for the rest, and in a session all of them have something new. The frame has to be given up: no
    other answer may be made of it.

    Args:
        split: the request.
        head: the header of the response; that of the frame is as long.
        fills: whether partitions without an answer are in it, too, with no error and no records.
        session_id: the client's session (KIP-227); 0: it has none.
    """

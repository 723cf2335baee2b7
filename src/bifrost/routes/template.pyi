"""Types and contract of templates; template.pyx explains them."""

from bifrost.routes.shape import Shape

class Template:
    """What an answer has for a partition that no broker answered.

    Args:
        shape: of the response.
        body: a response without a header, which has one topic with one partition.
        throttle_at: where its throttle time stands; -1: it has none.
        marks_at: where a partition's watermarks stand in it, from the partition's beginning; -1: it has none.
        marks_size: how many bytes they have.
    """

    shape: Shape
    """Of the response."""

    def __init__(
        self, shape: Shape, body: bytes, throttle_at: int = -1, marks_at: int = -1, marks_size: int = 0
    ) -> None: ...

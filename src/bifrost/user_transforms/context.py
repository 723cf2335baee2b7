"""What a user's transform is told about the batch that it gets."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    """The second argument of `transform`."""

    tenant: str
    topic: str
    """As clients of the whole tenant see it: `orders`, or `eu:orders` in a namespace."""
    direction: str
    """`produce` or `fetch`."""
    base_offset: int
    """The offset of the batch in its partition, to which `offset_delta` is added; on produce it is 0 as a rule."""

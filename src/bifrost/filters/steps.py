"""The four things that can be decided about a message.

    Forward   it goes on, as the filters have changed it
    Answer    the gateway answers the request itself, and nothing of it goes to the broker
    Need      it waits for something that the gateway does not have yet, and only its own connection waits with it
    Close     it can be neither sent on nor answered, so the connection ends

A message that waits is kept as bytes. When what it needed is there, it is decoded anew and decided from the beginning.
So a filter that returns a Need must not have changed anything but the message.
"""

from dataclasses import dataclass
from typing import final

from bifrost.wire.message import Message


@final
class Forward:
    """The message goes on."""

    __slots__ = ()


FORWARD = Forward()


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """The gateway's own response to a request."""

    response: Message


@final
@dataclass(frozen=True, slots=True)
class Close:
    """The connection ends."""

    detail: str
    """Why, for the log."""


class Need:
    """Something that a message waits for; each kind is a class of its own, since each is met in its own way."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


@final
@dataclass(frozen=True, slots=True)
class TopicIds(Need):
    """Whether these topic IDs are the tenant's, and what their topics are called: the cluster is asked."""

    ids: frozenset[bytes]


@final
class TopicCount(Need):
    """How many topics and partitions the tenant has (tenancy/topic_bounds.py): the cluster is asked."""

    __slots__ = ()


LookUp = TopicIds | TopicCount
"""The needs that are met by asking the cluster (`WayToBroker.fetch`)."""

RequestStep = Forward | Answer | Need | Close
"""What a filter returns for a request."""

ResponseStep = Forward | Need | Close
"""What a filter returns for a response, which cannot be answered."""

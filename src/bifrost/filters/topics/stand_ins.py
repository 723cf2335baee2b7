"""Sends one item of a request for many that a broker would answer alike.

Kafka collects some answers in a hash set whose keys are topic names (ImplicitLinkedHashMultiCollection). Answers that
have no name, or the same one, collide, and the work grows with the cube of their number: 2,000 unknown topic IDs take
2.5 s of a broker's CPU in Metadata and 7 s in DeleteTopics (measured on 4.3.1). So only the first item of each kind
goes to the broker, and its answer is copied for the others.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from bifrost.wire.steps import in_steps

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class StandIns(Generic[Key]):
    """The represented items of one request; a key says which item an answer is about."""

    def __init__(self) -> None:
        """Start without items."""
        self._first_of: dict[str, Key] = {}
        self._others: dict[Key, list[Key]] = {}

    def is_sent(self, kind: str, key: Key) -> bool:
        """Whether an item goes to the broker; if not, the first of its kind represents it."""
        first = self._first_of.setdefault(kind, key)
        if first is key:
            self._others[key] = []
            return True
        self._others[first].append(key)
        return False

    def answer_all(
        self,
        answers: Iterable[Answer],
        key_of: Callable[[Answer], Key],
        copy: Callable[[Answer, Key], Answer],
    ) -> list[Answer]:
        """Return the broker's answers, each followed by its copies for the items that it represents."""
        found = []
        for answer in in_steps(answers):
            found.append(answer)
            found += [copy(answer, other) for other in in_steps(self._others.pop(key_of(answer), ()))]
        return found

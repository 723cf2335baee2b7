"""Takes items out of a request, and puts the answers for them into the broker's answer."""

import copy
from collections.abc import Iterable
from typing import Any

from bifrost.filters.error_places import error_place
from bifrost.filters.error_response import item_errors
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import Answer
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.steps import in_steps

_ANSWERS: Note[list[tuple["LeftOut", Message]]] = Note("left_out_items")
"""Answers for the items that the broker is not asked about, each with whose they are."""


class LeftOut:
    """The items that one kind of filter takes out of requests; each kind has its own."""

    def take_out(
        self,
        exchange: Exchange,
        request: Any,
        attribute: str,
        kept: list[Any],
        refused: list[Any],
        error_code: ErrorCode,
        message: str | None = None,
    ) -> Message | None:
        """Leave only some items in a list of a request; return the answer for the refused ones.

        The answer is kept for `put_back`. None: nothing is refused.
        """
        if not refused:
            return None
        without = copy.copy(request)
        setattr(without, attribute, refused)
        answer = item_errors(without, exchange.api_version, error_code, message=message, each=in_steps)
        setattr(request, attribute, kept)
        self.keep_answer(exchange, answer)
        return answer

    def keep_answer(self, exchange: Exchange, answer: Message) -> None:
        """Keep answers for items that the broker is not asked about."""
        before = exchange.find(_ANSWERS)
        if before is None:
            exchange.keep(_ANSWERS, [(self, answer)])
        else:
            before.append((self, answer))
        exchange.wants_response = True

    def put_back(self, exchange: Exchange, response: Message) -> bool:
        """Put the kept answers into the lists of the broker's answer; say whether there are any."""
        answers = [answer for owner, answer in _kept(exchange) if owner is self]
        _put(exchange, response, answers)
        return bool(answers)

    def without_broker(self, exchange: Exchange, answer: Message) -> Answer:
        """Answer at once: nothing is left to ask the broker. `answer` gets what other filters have kept as well."""
        _put(exchange, answer, [one for owner, one in _kept(exchange) if owner is not self])
        return Answer(answer)


def _kept(exchange: Exchange) -> list[tuple[LeftOut, Message]]:
    return exchange.find(_ANSWERS) or []


def _put(exchange: Exchange, response: Message, answers: list[Message]) -> None:
    if answers:
        place = error_place(exchange.api_key, exchange.api_version, is_of_items=True)
        for answer in answers:
            for one in place.lists:
                getattr(response, one.attribute).extend(getattr(answer, one.attribute))


def joined_topics(topics: Iterable[Any], partitions: str) -> list[Any]:
    """Give each topic of a response one entry, as clients expect, though its partitions were answered in several.

    Args:
        topics: the entries; those of one topic have the same name and ID, as far as there are such fields.
        partitions: the attribute of an entry that has its partitions.
    """
    found: dict[tuple[Any, ...], Any] = {}
    for topic in in_steps(topics):
        key = tuple(getattr(topic, one, None) for one in ("name", "topic", "topic_id"))
        first = found.setdefault(key, topic)
        if first is not topic:
            getattr(first, partitions).extend(getattr(topic, partitions))
    return list(found.values())

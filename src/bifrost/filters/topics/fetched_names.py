"""Fetch by names: no broker is asked for what is no topic's name.

A broker makes metrics of every name in a Fetch, some 4 KB each, and keeps them for good, whether there is such a topic
or not (BrokerTopicStats.updateBytesOut; KAFKA-5238). So a tenant that makes up names would fill its heap. Which of the
names do not exist was asked before (session/topics/absent_topics.py); here they are taken out of the request, and
answered as a broker answers. A topic that is removed later is refused when the tenant has deleted it through this
gateway. From version 13 on a Fetch has topic IDs, and a broker knows no name for one that is no topic's.

A broker answers for such a partition in every answer of a session (KIP-227). Here a session has existing topics only: a
request that names another one ends the session, and each answer until the client stops naming it is a full one.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.error_response import item_errors
from bifrost.filters.fetch import FINAL_EPOCH, session_not_found
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.plan import Plan
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.filters.topics.automatic_creation import ABSENT_TOPICS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import FetchRequest, FetchResponse

_SESSIONS_SINCE, _IDS_SINCE = 7, 13
"""Versions of Fetch."""

_REFUSED: Note[Any] = Note("absent_fetches")
"""The answer for topics that do not exist."""


def names_topics(plan: Plan) -> bool:
    """Whether requests of a plan are Fetches that name topics."""
    return plan.api_key == ApiKey.FETCH and plan.api_version < _IDS_SINCE


class FetchedNamesFilter:
    """Takes topics that do not exist out of a Fetch."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Let the broker read existing topics only."""
        absent = frozenset(exchange.find(ABSENT_TOPICS) or ())
        if not absent:
            return FORWARD
        if request.session_epoch > 0:
            return Answer(session_not_found())
        existing: list[Any] = []
        refused = copy.copy(request)
        refused.topics = []
        for topic in in_steps(request.topics):
            (refused.topics if topic.topic in absent else existing).append(topic)
        answer = item_errors(
            refused, exchange.api_version, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, each=in_steps
        )
        if not existing:
            return Answer(answer)
        request.topics = existing
        if exchange.api_version >= _SESSIONS_SINCE:
            request.session_epoch = FINAL_EPOCH
        exchange.keep(_REFUSED, answer)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: FetchResponse) -> ResponseStep:
        """Add the answers for the others."""
        refused = exchange.find(_REFUSED)
        if refused is not None:
            response.responses.extend(refused.responses)
        return FORWARD

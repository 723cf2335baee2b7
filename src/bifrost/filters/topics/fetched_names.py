"""Fetch by names: no broker is asked for what is no topic's name.

A broker makes metrics of every name in a Fetch, some 4 KB each, and keeps them for good, whether there is such a topic
or not (BrokerTopicStats.updateBytesOut; KAFKA-5238). So a tenant that makes up names would fill its heap. Which of the
names do not exist was asked before (session/topics/absent_topics.py); here they are taken out of the request, and
answered as a broker answers. A topic that is removed later is refused when the tenant has deleted it through this
gateway. From version 13 on a Fetch has topic IDs, and a broker knows no name for one that is no topic's.

A fetch session has existing topics only (left_out/fetches.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange
from bifrost.filters.left_out.fetches import leave_out
from bifrost.filters.left_out.items import LeftOut
from bifrost.filters.plan import Plan
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.topics.automatic_creation import ABSENT_TOPICS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import FetchRequest, FetchResponse

_IDS_SINCE = 13
"""Version of Fetch."""

_ABSENT = LeftOut()


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
        existing: list[Any] = []
        refused: list[Any] = []
        for topic in in_steps(request.topics):
            (refused if topic.topic in absent else existing).append(topic)
        return leave_out(_ABSENT, exchange, request, existing, refused, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def on_response(self, exchange: Exchange, response: FetchResponse) -> ResponseStep:
        """Add the answers for the others."""
        _ABSENT.put_back(exchange, response)
        return FORWARD

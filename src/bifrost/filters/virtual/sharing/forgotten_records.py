"""Forgets what brokers have answered of late when topics were deleted or made, or records deleted, by this process."""

from __future__ import annotations

from typing import ClassVar

from bifrost.filters.filter import Exchange
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.wire.entity import Entity
from bifrost.wire.message import Message


class ForgottenRecordsFilter:
    """Of all topics of the tenant: such requests are rare."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """See the answer."""
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Forget what is kept; answers that are on their way now are not."""
        virtual_topics(exchange).forget_recent()
        return FORWARD

"""ListTransactions v2 (KIP-1152): the broker matches a pattern with the transactional IDs of all tenants.

The filter confines the pattern to the namespace like that of a subscription; one that cannot be confined is answered as
if it did not compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListTransactionsResponse

if TYPE_CHECKING:
    from bifrost.wire.messages import ListTransactionsRequest


class ListTransactionsFilter(RequestFilter):
    """Confines the pattern; the namespace removes other tenants' transactions from the answer."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.TRANSACTIONAL_ID_REGEX})

    def on_request(self, exchange: Exchange, request: ListTransactionsRequest) -> RequestStep:
        """Translate the pattern, or refuse it."""
        if not request.transactional_id_pattern:
            return FORWARD  # Null and empty both mean "no pattern".
        names = exchange.scope.namespace.names
        try:
            request.transactional_id_pattern = names.confined_regex(
                request.transactional_id_pattern, Entity.TRANSACTIONAL_ID
            )
        except InvalidRegex:
            return Answer(ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION))
        return FORWARD

"""ListTransactions v2 (KIP-1152): the broker matches a pattern with the transactional IDs of all tenants.

The filter confines the pattern to the namespace like that of a subscription; one that cannot be confined is answered as
if it did not compile.
"""

from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ListTransactionsResponse


class ListTransactionsFilter(RequestFilter):
    """Confines the pattern; the namespace removes other tenants' transactions from the answer."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.TRANSACTIONAL_ID_REGEX})

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Translate the pattern, or refuse it."""
        if not request.transactional_id_pattern:
            return None  # Null and empty both mean "no pattern".
        names = exchange.scope.namespace.names
        try:
            request.transactional_id_pattern = names.confined_regex(
                request.transactional_id_pattern, Entity.TRANSACTIONAL_ID
            )
        except InvalidRegex:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        return None

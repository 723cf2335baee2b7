"""DescribeClientQuotas: which quotas a tenant has, those that the operator gave to its users and client IDs among them.

Where both have a value for the same key of the same entity, the lower one is told, which is the one that is felt. What
the operator gave to the tenant as a whole has no place in Kafka's entities.

Source: ClientQuotasImage of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.quotas.quota_parts import TYPES, Parts, parts_of, shortened
from bifrost.filters.steps import Answer, RequestStep
from bifrost.tenancy.quotas.quota_key import refuse_value
from bifrost.wire import messages
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.quotas.quota_table import QuotaTable
    from bifrost.wire.messages import DescribeClientQuotasRequest

_EXACT, _DEFAULT, _SPECIFIED = range(3)
"""DescribeClientQuotasRequest.MATCH_TYPE_..."""


class _Refused(NamedTuple):
    error_code: ErrorCode
    message: str


class QuotaDescriptionFilter(RequestFilter):
    """Tells a tenant its quotas."""

    def on_request(self, exchange: Exchange, request: DescribeClientQuotasRequest) -> RequestStep:
        """Answer the request."""
        wanted = _read(request)
        if isinstance(wanted, _Refused):
            return Answer(
                messages.DescribeClientQuotasResponse(
                    error_code=wanted.error_code, error_message=shortened(wanted.message), entries=None
                )
            )
        scope = exchange.scope
        response = messages.DescribeClientQuotasResponse
        entries = [
            response.EntryData(
                entity=[
                    response.EntityData(entity_type=kind, entity_name=name) for kind, name in parts.items()
                ],
                values=[response.ValueData(key=key, value=value) for key, value in values.items()],
            )
            for parts, values in _quotas(scope.quotas.table(scope.namespace.path))
            if _matches(parts, wanted, is_strict=request.strict)
        ]
        return Answer(response(entries=entries))


def _read(request: DescribeClientQuotasRequest) -> Mapping[str, tuple[int, str | None]] | _Refused:
    """Return how the entities that are asked for match, by type; or why the request is refused, in Kafka's words."""
    found: dict[str, tuple[int, str | None]] = {}
    invalid = ErrorCode.INVALID_REQUEST
    for one in in_steps(request.components):
        if not one.entity_type:
            return _Refused(invalid, "Invalid empty entity type.")
        if one.entity_type in found:
            return _Refused(
                invalid, f"Entity type {one.entity_type} cannot appear more than once in the filter."
            )
        if one.entity_type not in TYPES:
            return _Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {one.entity_type}")
        if one.match_type == _EXACT and one.match is None:
            text = "Request specified MATCH_TYPE_EXACT, but set match string to null."
            return _Refused(invalid, text)
        if one.match_type in (_DEFAULT, _SPECIFIED) and one.match is not None:
            kind = "DEFAULT" if one.match_type == _DEFAULT else "SPECIFIED"
            text = f"Request specified MATCH_TYPE_{kind}, but also specified a match string."
            return _Refused(invalid, text)
        if one.match_type not in (_EXACT, _DEFAULT, _SPECIFIED):
            return _Refused(invalid, f"Unknown match type {one.match_type}")
        found[one.entity_type] = (one.match_type, one.match)
    return found


def _matches(parts: Parts, wanted: Mapping[str, tuple[int, str | None]], *, is_strict: bool) -> bool:
    if is_strict and len(parts) != len(wanted):
        return False
    return all(
        kind in parts and (match_type == _SPECIFIED or parts[kind] == match)
        for kind, (match_type, match) in wanted.items()
    )


def _quotas(table: QuotaTable) -> Iterator[tuple[Parts, Mapping[str, float]]]:
    """Yield the quotas of each entity of a namespace, its own and given ones."""
    for entity in in_steps(sorted(table.given.keys() | table.own.keys(), key=str)):
        if entity.is_namespace:
            continue
        given, own = table.given.get(entity, {}), table.own.get(entity, {})
        values = {
            str(key): min(quotas[key] for quotas in (given, own) if key in quotas)
            for key in sorted(given.keys() | own.keys())
            if refuse_value(key, 1.0) is None  # Not what Kafka does not know.
        }
        if values:
            yield parts_of(entity), values

"""Which requests may go straight to a broker: those by partition, but for Fetch, which one poll of several answers."""

from bifrost.routes.route_kinds import RouteKind, route_kind
from bifrost.routes.shapes import shapes_of
from bifrost.routes.straight import StraightWay
from bifrost.wire.api_keys import ApiKey


def straight_way(api_key: int, version: int) -> StraightWay | None:
    """Return the way of an API at a version; None: its requests are routed otherwise."""
    if route_kind(api_key) is not RouteKind.LEADERS:
        return None
    shapes = shapes_of(ApiKey(api_key), version)
    return StraightWay(
        shapes.request,
        shapes.template,
        has_request_tags=shapes.request_header_is_flexible,
        has_response_tags=shapes.response_header_is_flexible,
        is_by_id=shapes.is_by_id,
        is_produce=api_key == ApiKey.PRODUCE,
        has_timeout_behind=shapes.has_timeout_behind,
    )

"""Which APIs have a straight way."""

from bifrost.routes.route_kinds import ROUTE_KINDS, RouteKind
from bifrost.routes.straight_ways import straight_way
from bifrost.wire.schema import request_schema


def test_requests_by_partition_have_a_straight_way_but_for_fetch() -> None:
    with_ways = {
        key for key in ROUTE_KINDS if straight_way(key, list(request_schema(key).versions)[-1]) is not None
    }

    assert with_ways == {key for key, kind in ROUTE_KINDS.items() if kind is RouteKind.LEADERS}
    assert straight_way(32_000, 0) is None

import pytest

from bifrost.routes.route_kinds import ROUTE_KINDS, RouteKind, route_kind
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import REFUSED, SERVED


def test_every_api_that_is_served_or_refused_has_a_route() -> None:
    assert ROUTE_KINDS.keys() == SERVED.keys() | REFUSED


@pytest.mark.parametrize("api_key", [ApiKey.VOTE, 999])
def test_an_api_that_is_not_in_the_table_has_no_route(api_key: int) -> None:
    assert route_kind(api_key) is None


def test_a_route_is_found_by_number() -> None:
    assert route_kind(0) is RouteKind.LEADERS

"""What one process has counted."""

from bifrost.config.model import Config
from bifrost.gateway.admin.counted import OfProcess
from bifrost.gateway.gateway import Gateway
from bifrost.session.close_reason import CloseReason
from unit.gateway.test_gateway import CONFIG


def test_it_is_what_the_gateway_has() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    gateway.shared.lanes.traffic("acme", None).receive(7)
    gateway.count_end(CloseReason.TENANT_CONNECTIONS, "acme")
    gateway.shared.lanes.in_flight_limits.hits["max_in_flight_requests", "acme"] += 1
    gateway.shared.sasl.outcomes["acme", "PLAIN", "success"] += 1
    gateway.pauses.add("client", 1_500_000_000)
    counted = OfProcess(gateway)

    assert [(tenant, key, one.requests) for tenant, key, one in counted.traffic()] == [("acme", None, 1)]
    assert dict(counted.limits_hit()) == {
        ("max_connections", "acme"): 1,
        ("max_in_flight_requests", "acme"): 1,
    }
    assert counted.ends() == {CloseReason.TENANT_CONNECTIONS: 1}
    assert counted.authentications() == {("acme", "PLAIN", "success"): 1}
    assert counted.connections() == {"": 0}
    assert list(counted.upstreams()) == [("upstream", 0, False)]
    gateway.broker_connections["upstream"] += 2
    assert list(counted.broker_connections()) == [("upstream", 2)]
    assert (counted.paused_s("client"), counted.paused_s("broker")) == (1.5, 0)
    assert (counted.is_ready, counted.max_connections, counted.reloader) == (False, 2, None)
    assert list(counted.mechanisms) == ["PLAIN"]
    assert list(counted.in_flight()) == []
    assert list(counted.workers()) == []
    assert counted.spare_bytes() >= 0
    assert (counted.internal_errors(), counted.listener_watch) == ({}, gateway.listener_watch)
    assert counted.buffered_bytes() == 0


def test_a_limit_that_connections_and_requests_hit_is_one_series() -> None:
    gateway = Gateway(Config.model_validate(CONFIG))
    of_requests = gateway.shared.lanes.in_flight_limits.hits
    gateway.limits_hit["virtual_offset_groups", "acme"] += 1
    of_requests["virtual_offset_groups", "acme"] += 2

    found = list(OfProcess(gateway).limits_hit())

    assert found == [(("virtual_offset_groups", "acme"), 3)]
    assert gateway.limits_hit["virtual_offset_groups", "acme"] == 1

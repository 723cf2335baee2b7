from bifrost.filters.steps import TopicCount
from bifrost.filters.topics.growth import begin_growth
from bifrost.tenancy.topic_bounds import Growth, TopicBounds
from support.stage.stage import Stage


def test_a_tenant_without_bounds_is_not_judged(stage: Stage) -> None:
    stage.namespaces["acme"].bounds = None
    assert begin_growth(stage.exchange(7)) is None


def test_topics_are_counted_before_anything_is_judged(stage: Stage) -> None:
    now_ms = 0
    bounds = TopicBounds(lambda: now_ms, stage.hits, "acme")
    stage.namespaces["acme"].bounds = bounds
    exchange = stage.exchange(7)
    assert begin_growth(exchange) == TopicCount()

    bounds.count({}, 1)
    assert isinstance(begin_growth(exchange), Growth)

    now_ms = 60_000  # A count that is old now is still good for the request that waited for it.
    assert begin_growth(exchange) == TopicCount()
    exchange.met = frozenset({TopicCount})
    assert isinstance(begin_growth(exchange), Growth)

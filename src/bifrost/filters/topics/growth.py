"""Judges requests that create topics or partitions by the tenant's bounds; its topics are counted first if need be."""

from bifrost.filters.filter import Exchange
from bifrost.filters.steps import TopicCount
from bifrost.tenancy.topic_bounds import BY_DEFAULT, Growth


def begin_growth(exchange: Exchange) -> Growth | TopicCount | None:
    """Return what judges the topics of a request, or None when the tenant is not bounded.

    Where the tenant's topics were not counted a moment ago, that is needed first. Once counted for this request, the
    count is used however long the request has waited since.
    """
    bounds = exchange.scope.namespace.bounds
    if bounds is None:
        return None
    if not bounds.is_counted and TopicCount not in exchange.met:
        return TopicCount()
    growth, rules = bounds.grow(), exchange.scope.namespace.rules
    if rules is not None:
        growth.below = rules.budgets(growth)
    return growth


def commit_growth(exchange: Exchange, growth: Growth) -> None:
    """Count the allowed topics and partitions as existing, and note for the session what they cost the brokers."""
    growth.commit()
    exchange.new_partitions = growth.new_partitions


def at_brokers(exchange: Exchange, topic: str, partitions: int) -> int:
    """Return how many partitions brokers have for a topic that a client is to see with so many, or BY_DEFAULT."""
    virtual = exchange.scope.virtual
    found = None if virtual is None else virtual.map_of(topic)
    if found is None or (partitions == BY_DEFAULT and found.ratio):
        return partitions
    return found.at_brokers(partitions)

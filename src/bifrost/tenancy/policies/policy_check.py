"""Which of a namespace's topics do not keep to a policy: what was there before it, or what it would concern."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bifrost.tenancy.policies.ruling import Ruling, Violation
from bifrost.tenancy.policy import SET


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """A topic as it is at the brokers."""

    shown: str
    """Its name with its namespace, such as `acme:eu/orders`."""
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    """The configs that it has of its own."""

    @property
    def name(self) -> str:
        """Its name within its namespace."""
        return self.shown.partition("/")[2]


def violations(ruling: Ruling, topics: Iterable[FoundTopic]) -> Iterator[tuple[str, Violation]]:
    """Yield each topic that a policy does not allow, or the namespace, with the reason.

    Args:
        ruling: the policy.
        topics: all topics of its namespace and of those below.
    """
    count = partitions = 0
    for topic in topics:
        count, partitions = count + 1, partitions + topic.partitions
        for one in _of(ruling, topic):
            if one is not None:
                yield topic.shown, one
    for most, found in ((ruling.policy.max_topics, count), (ruling.policy.max_partitions, partitions)):
        if most is not None and found > most:
            one = ruling.refuse_growth(count - 1, partitions - 1, 1, 1)
            if one is not None:
                yield ruling.shown, one
                return


def _of(ruling: Ruling, topic: FoundTopic) -> Iterator[Violation | None]:
    yield ruling.refuse_topic_name(topic.name)
    yield ruling.refuse_partitions(topic.partitions, is_new=True)
    yield ruling.refuse_replicas(topic.replication_factor)
    for name, value in sorted(topic.configs.items()):
        if name not in ruling.forced:
            yield ruling.refuse_config(name, value, SET)
    for name, value in sorted(ruling.forced.items()):
        found = topic.configs.get(name)
        if found != value:
            yield ruling.refuse_forced(name, "no value of its own" if found is None else found)

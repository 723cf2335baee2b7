import time
from typing import Any

import pytest

from bifrost.filters.virtual.streams.divided_topology import (
    MAX_ID,
    MAX_SUBTOPOLOGIES,
    NO_TOPICS,
    NOT_BY_PATTERN,
    TOO_MANY,
    Invalid,
    divide_topology,
    show_topology,
)
from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics, VirtualTopics
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule
from support.stage.stage import Stage
from support.stage.streams_groups import beat, internal, part

ON_FOUR = PartitionMap(12, 4)
OF_RATIO = PartitionMap.of_ratio(3)
RULES = [
    PartitionRule(("app-*-changelog",), ON_FOUR._replace(is_keyed=True)),
    PartitionRule(("orders", "app-*", "bare-changelog"), ON_FOUR),
    PartitionRule(("ratio-*-changelog",), OF_RATIO._replace(is_keyed=True)),
    PartitionRule(("ratio-*",), OF_RATIO),
]
COMPACT = {"cleanup_policy": "compact"}
DELETE = {"cleanup_policy": "delete"}


@pytest.fixture
def virtual(stage: Stage) -> VirtualTopics:
    return TenantVirtualTopics(RULES, "acme", wall_s=time.time).topics(stage.namespaces["acme"], None)


def topology(*parts: Any) -> Any:
    return beat("app", *parts).topology


def test_internal_topics_get_the_partitions_that_brokers_have(virtual: VirtualTopics) -> None:
    found = topology(
        part("0", source_topics=["orders"], repartition_sink_topics=["billing"]),
        part(
            "1",
            repartition_source_topics=[
                internal("app-auto", **DELETE),
                internal("app-twelve", 12, **DELETE),
            ],
            state_changelog_topics=[internal("app-store-changelog", **COMPACT)],
        ),
        part(
            "2",
            repartition_source_topics=[
                internal("ratio-auto", **DELETE),
                internal("ratio-six", 6, **DELETE),
            ],
            state_changelog_topics=[internal("ratio-store-changelog", **COMPACT)],
        ),
        part(
            "3", source_topics=["billing"], state_changelog_topics=[internal("store-changelog", 7, **COMPACT)]
        ),
    )

    assert divide_topology(virtual, found) == {"0": ON_FOUR, "1": ON_FOUR, "2": OF_RATIO, "3": None}
    numbers = {
        topic.name: topic.partitions
        for one in found.subtopologies
        for topic in [*one.repartition_source_topics, *one.state_changelog_topics]
    }
    assert numbers == {
        "app-auto": 4,
        "app-twelve": 4,
        "app-store-changelog": 0,
        "ratio-auto": 0,
        "ratio-six": 2,
        "ratio-store-changelog": 0,
        "store-changelog": 7,
    }
    show_topology(virtual, found.subtopologies)
    assert [one.partitions for one in found.subtopologies[1].repartition_source_topics] == [12, 12]
    assert [one.partitions for one in found.subtopologies[2].repartition_source_topics] == [0, 6]


def test_a_topic_without_a_policy_is_not_compacted_by_the_default_of_brokers(virtual: VirtualTopics) -> None:
    bare, keyed = internal("app-again"), internal("app-store-changelog")
    found = topology(
        part(source_topics=["orders"], repartition_source_topics=[bare], state_changelog_topics=[keyed])
    )

    assert divide_topology(virtual, found) == {"0": ON_FOUR}
    (subtopology,) = found.subtopologies
    (config,) = subtopology.repartition_source_topics[0].topic_configs
    assert (config.key, config.value) == ("cleanup.policy", "delete")
    assert subtopology.state_changelog_topics[0].topic_configs == []


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_needs_a_rule_that_says_so(virtual: VirtualTopics, policy: str) -> None:
    changelog = internal("bare-changelog", cleanup_policy=policy)
    found = topology(part(source_topics=["orders"], state_changelog_topics=[changelog]))

    assert divide_topology(virtual, found) == Invalid(
        "The internal topic bare-changelog: it is compacted, and virtual partitions would share their keys. The "
        "operator's rule for it needs compacted: true"
    )


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("app-again", 3, "The topic has 12 virtual partitions; the operator of the gateway sets how many"),
        ("ratio-again", 4, "The number of virtual partitions is a multiple of 3, at most 3000: 6 would do"),
    ],
)
def test_a_number_that_cannot_be_is_refused(
    virtual: VirtualTopics, name: str, number: int, text: str
) -> None:
    found = divide_topology(virtual, topology(part(repartition_source_topics=[internal(name, number)])))

    assert found == Invalid(f"The internal topic {name}: {text}")


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        ({"source_topics": ["orders", "billing"]}, "billing has no virtual partitions"),
        ({"repartition_source_topics": [internal("ratio-again")]}, "ratio-again has a ratio of 3"),
        ({"state_changelog_topics": [internal("changelog")]}, "changelog has no virtual partitions"),
    ],
)
def test_topics_that_are_not_divided_alike_are_refused(
    virtual: VirtualTopics, topics: dict[str, Any], text: str
) -> None:
    found = divide_topology(virtual, topology(part("5", **{"source_topics": ["orders"], **topics})))

    assert isinstance(found, Invalid)
    assert found.text.startswith("The topics of subtopology 5 share their tasks")
    assert found.text.endswith(f": orders has 12 virtual partitions on 4, {text}.")


def test_a_hidden_topic_is_divided_by_its_own_name(virtual: VirtualTopics) -> None:
    absent = virtual.namespace.absent_topic("app-hidden")

    assert divide_topology(virtual, topology(part(source_topics=["orders", absent]))) == {"0": ON_FOUR}


def test_patterns_are_refused(virtual: VirtualTopics) -> None:
    found = topology(part(source_topic_regex=["", "billing.*"]))

    assert divide_topology(virtual, found) == Invalid(NOT_BY_PATTERN)


def test_a_topology_has_bounds(virtual: VirtualTopics) -> None:
    most = [part(str(number), source_topics=["billing"]) for number in range(MAX_SUBTOPOLOGIES)]
    assert len(divide_topology(virtual, topology(*most))) == MAX_SUBTOPOLOGIES
    assert divide_topology(virtual, topology(*most, part("more", source_topics=["billing"]))) == Invalid(
        TOO_MANY
    )

    def of(*ids: str) -> Any:
        return topology(*(part(one, source_topics=["billing"]) for one in ids))

    assert divide_topology(virtual, of("i" * MAX_ID)) == {"i" * MAX_ID: None}
    assert divide_topology(virtual, of("i" * (MAX_ID + 1))) == Invalid(TOO_MANY)
    assert divide_topology(virtual, of("0", "0")) == Invalid(TOO_MANY)


def test_a_subtopology_has_topics(virtual: VirtualTopics) -> None:
    assert divide_topology(virtual, topology(part("5"))) == Invalid(NO_TOPICS.format("5"))

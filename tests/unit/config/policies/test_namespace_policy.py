from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.policies.namespace_policy import NamespacePolicy


def test_what_is_given_is_read() -> None:
    policy = NamespacePolicy.model_validate(
        {
            "topic_names": ["orders-*"],
            "max_topics": 0,
            "topic_configs": [{"name": "retention.ms", "max": "24h"}],
            "forced_topic_configs": [{"name": "min.insync.replicas", "value": 2}],
        }
    )

    assert policy.topic_names == ("orders-*",)
    assert policy.max_topics == 0
    assert policy.topic_configs[0].max == 86_400_000
    assert policy.forced_topic_configs[0].value == "2"


def test_an_empty_policy_allows_everything() -> None:
    assert NamespacePolicy().model_dump(exclude_defaults=True) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topic_names": ["a**b"]}, r"several \* in a row"),
        ({"group_names": [""]}, "at least 1 character"),
        (
            {"min_partitions_per_topic": 3, "max_partitions_per_topic": 2},
            "min_partitions_per_topic 3 is more than max_partitions_per_topic 2",
        ),
        ({"min_replication_factor": 3, "max_replication_factor": 2}, "min_replication_factor 3 is more than"),
        ({"max_topics": -1}, "greater than or equal to 0"),
        (
            {"topic_configs": [{"name": "segment.ms", "allowed": True}]},
            "a policy of a namespace only narrows",
        ),
        (
            {"topic_configs": [{"name": "segment.ms", "min": 1}, {"name": "segment.ms", "max": 9}]},
            r"topic_configs has segment\.ms twice",
        ),
        (
            {
                "forced_topic_configs": [
                    {"name": "segment.ms", "value": 1},
                    {"name": "segment.ms", "value": 1},
                ]
            },
            r"forced_topic_configs has segment\.ms twice",
        ),
        ({"forced_topic_configs": [{"name": "segment.mss", "value": 1}]}, "no topic config segment.mss"),
        ({"forced_topic_configs": [{"name": "segment.ms", "value": "x"}]}, "is a number"),
        ({"forced_topic_configs": [{"name": "segment.ms"}]}, "value"),
        ({"topics": 3}, "Extra inputs"),
    ],
)
def test_what_cannot_hold_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        NamespacePolicy.model_validate(given)

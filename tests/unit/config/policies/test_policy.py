from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.policies.policy import Policy, read_bound
from support.journal.loading import load
from unit.config.conftest import PROXY_YAML
from unit.config.virtual_cluster_files import PROD, loaded, mistakes


def policy(*rules: dict[str, Any], **more: Any) -> Policy:
    return Policy.model_validate({"topic_configs": list(rules), **more})


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("16MiB", 16 << 20),
        ("4h", 14_400_000),
        ("10min", 600_000),
        ("250ms", 250),
        ("2s", 2000),
        (-1, -1),
        (0.5, 0.5),
    ],
)
def test_a_bound_is_a_number_or_has_a_unit(written: object, expected: float) -> None:
    assert read_bound(written) == expected


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"name": "retention.m", "max": 1}, "did you mean retention.ms?"),
        ({"name": "quite.another", "max": 1}, "docs/config-policy.md has all that there are"),
        ({"name": "consumer.session.timeout.ms", "max": 1}, "Kafka has no topic config of this name"),
        ({"name": "retention.ms"}, "says nothing"),
        ({"name": "retention.ms", "min": 2, "max": 1}, "min 2 is more than max 1"),
        ({"name": "retention.ms", "allowed": False, "max": 1}, "is not allowed and has bounds"),
        ({"name": "retention.ms", "values": ["1"]}, "retention.ms is no choice"),
        ({"name": "cleanup.policy", "max": 1}, "cleanup.policy is no number"),
        ({"name": "preallocate", "min": 1}, "preallocate is no number"),
        ({"name": "retention.ms", "max": "7 d"}, "unit|whole number"),
        ({"name": "retention.ms", "max": True}, "expected a number"),
        ({"name": "retention.ms", "most": 1}, "Extra inputs"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rule: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError, match=text.replace("?", r"\?")):
        policy(rule)


def test_two_rules_for_one_config_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"topic_configs has two rules for segment\.ms"):
        policy({"name": "segment.ms", "min": 1}, {"name": "segment.ms", "max": 2})


def test_rules_of_groups_are_about_configs_of_groups() -> None:
    with pytest.raises(ValidationError, match="Kafka has no group config of this name"):
        Policy.model_validate({"group_configs": [{"name": "segment.ms", "min": 1}]})


ACME = "    allowed_topics: [orders, billing, events, audit.log]\n"
RULES = (
    ACME
    + """    policy:
      max_replication_factor: 2
      topic_configs:
        - { name: segment.ms, min: 10min }
        - { name: retention.ms, max: 168h }
"""
)


def test_a_file_says_it_in_its_own_words(folder: Path) -> None:
    (folder / "proxy.yaml").write_text(PROXY_YAML.replace(ACME, RULES))

    rules = load("proxy.yaml").tenants[0].policy.topic_configs

    assert [(rule.name, rule.min, rule.max) for rule in rules] == [
        ("segment.ms", 600_000, None),
        ("retention.ms", None, 604_800_000),
    ]


def test_a_mistake_has_its_line(problems: Callable[..., list[str]]) -> None:
    wrong = RULES.replace("segment.ms", "segment.mss").replace("168h", "168")

    assert problems((ACME, wrong), ("max: 168", "max: x")) == [
        "proxy.yaml:18: tenants[0].policy.topic_configs[0]: name: Kafka has no topic config of this name that is known "
        "here; did you mean segment.ms?",
        "proxy.yaml:19: tenants[0].policy.topic_configs[1].max: write a whole number of bytes, or a number with one of "
        "B, KiB, MiB, GiB, e.g. 512KiB",
    ]


def test_a_virtual_cluster_says_it_in_camel_case(folder: Path) -> None:
    text = PROD.replace(
        "  virtualization:\n",
        "  virtualization:\n    policy:\n      maxReplicationFactor: 2\n"
        "      topicConfigs: [{ name: segment.ms, min: 10min }]\n",
    )
    assert text != PROD

    (tenant,) = loaded(folder, text).tenants

    assert tenant.policy.max_replication_factor == 2
    assert [(rule.name, rule.min) for rule in tenant.policy.topic_configs] == [("segment.ms", 600_000)]


def test_a_mistake_in_a_virtual_cluster_is_told_in_its_words(folder: Path) -> None:
    rules = "  virtualization:\n    policy: { topicConfigs: [{ name: segment.ms, max: 2h, minimum: 1 }] }\n"

    (problem,) = mistakes(folder, ("  virtualization:\n", rules))

    assert "spec.virtualization.policy.topicConfigs[0].minimum: unknown key; did you mean min?" in problem

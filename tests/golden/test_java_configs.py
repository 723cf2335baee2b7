"""Every config and every internal topic that Kafka's own classes know is classified."""

from collections.abc import Iterator

import pytest

from bifrost.config.name_template import INTERNAL_TOPICS
from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS
from golden.java_configs import GROUPS, TOPICS, JavaConfigs
from golden.java_configs import INTERNAL_TOPICS as JAVA_INTERNAL_TOPICS


@pytest.fixture(scope="module", params=["3.9.1", "4.1.1", "4.3.1"])
def java(request: pytest.FixtureRequest) -> Iterator[JavaConfigs]:
    with JavaConfigs(request.param) as process:
        yield process


def test_every_topic_config_is_decided(java: JavaConfigs) -> None:
    names = java.names(TOPICS)

    assert {"segment.bytes", "cleanup.policy"} <= names
    assert names - set(TOPIC_CONFIGS) == set(), "decide in config_table.py whether a tenant may set them"


def test_every_group_config_is_decided(java: JavaConfigs) -> None:
    assert java.names(GROUPS) - set(GROUP_CONFIGS) == set(), "decide in config_table.py"


def test_every_internal_topic_is_of_no_tenant(java: JavaConfigs) -> None:
    names = java.names(JAVA_INTERNAL_TOPICS)

    assert {"__consumer_offsets", "__transaction_state", "__remote_log_metadata"} <= names
    assert names - set(INTERNAL_TOPICS) == set()

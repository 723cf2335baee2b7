from bifrost.config.fields.state import State
from bifrost.gateway.state.state_topic import state_limits, state_topic_settings
from bifrost.state.state_table import StateLimits


def test_the_topic_is_compacted_and_has_one_partition() -> None:
    found = state_topic_settings(State(topic="platform-state", replication_factor=3))

    assert (found.name, found.partitions, found.replication_factor) == ("platform-state", 1, 3)
    assert found.configs["cleanup.policy"] == "compact"
    assert found.origin == "proxy.state"


def test_the_limits_are_those_of_the_configuration() -> None:
    assert state_limits(State(max_records=5, max_record_bytes=2048, max_bytes=4096)) == StateLimits(
        5, 2048, 4096
    )

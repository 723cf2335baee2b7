import pytest

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS, Decision, Kind

EVERY = [*TOPIC_CONFIGS.values(), *GROUP_CONFIGS.values()]


def test_no_config_is_decided_twice() -> None:
    assert all(name == decision.name for name, decision in [*TOPIC_CONFIGS.items(), *GROUP_CONFIGS.items()])
    assert len({decision.name for decision in EVERY}) == len(EVERY)


@pytest.mark.parametrize("decision", EVERY, ids=lambda one: one.name)
def test_bounds_fit_their_kind_and_have_a_reason(decision: Decision) -> None:
    is_number = decision.kind in (Kind.NUMBER, Kind.SIZE, Kind.DURATION, Kind.RATIO)

    assert len(decision.why) > 10
    assert is_number or (decision.low, decision.high) == (None, None)
    assert not is_number or decision.values is None
    assert decision.low is None or decision.high is None or decision.low <= decision.high


@pytest.mark.parametrize(
    "name",
    [
        "internal.segment.bytes",
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "remote.storage.enable",
        "message.format.version",
    ],
)
def test_what_is_the_operators_or_kafkas_own_is_not_allowed(name: str) -> None:
    assert not TOPIC_CONFIGS[name].allowed

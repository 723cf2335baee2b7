from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.topic_configs.config_plan import ConfiguredTopic, alterations, become_own, standings
from bifrost.tenancy.topic_configs.config_records import (
    NamespaceConfig,
    namespace_body,
    namespace_key,
    topic_key,
)
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs

ACME = Path(("acme",))


def configs(*, own: dict[str, str] | None = None, **values: str) -> NamespaceConfigs:
    """Let acme have these values, and have had 0 for each before."""
    found = NamespaceConfigs()
    earlier = dict.fromkeys((*values, "gone"), ("0",))
    bodies = {namespace_key(ACME): namespace_body(NamespaceConfig(values, earlier))}
    if own is not None:
        bodies[topic_key(ACME, "t")] = {"own": own}
    for key, body in bodies.items():
        found.apply(key, StateRecord(key, 1, 0, "change", "writer", None, body))
    return found


def topic(**values: str) -> ConfiguredTopic:
    return ConfiguredTopic("physical", ACME, "t", values)


def shown(model: NamespaceConfigs, one: ConfiguredTopic) -> list[tuple[str, str | None, str | None, bool]]:
    return [(found.config, found.found, found.wanted, found.overrides) for found in standings(model, [one])]


def test_a_topic_gets_what_it_lacks_follows_what_changed_and_loses_what_is_gone() -> None:
    model = configs(a="1", b="1", c="1")

    assert shown(model, topic(b="0", c="1", gone="0")) == [
        ("a", None, "1", False),
        ("b", "0", "1", False),
        ("c", "1", "1", False),
        ("gone", "0", None, False),
    ]
    assert alterations(standings(model, [topic(b="0", c="1", gone="0")])) == {
        "physical": {"a": "1", "b": "1", "gone": None}
    }


def test_a_value_of_its_own_stays() -> None:
    model = configs(a="1", b="1", own={"b": "0"})

    assert shown(model, topic(a="5", b="0")) == [
        ("a", "5", "5", True),
        ("b", "0", "0", True),
        ("gone", None, None, False),
    ]
    assert alterations(standings(model, [topic(a="5", b="0")])) == {}


def test_a_topic_that_has_what_the_namespace_gets_keeps_it_as_its_own() -> None:
    model = configs(a="1", own={"z": "9"})
    same, inheriting = topic(b="7", a="1"), topic(a="1")

    assert list(become_own(model, {"a": "1", "b": "7"}, [same, inheriting])) == [(same, {"z": "9", "b": "7"})]

import copy
from typing import Any

import pytest

from bifrost.config.checks.clashes import find_clashes
from support.physical_names import physical_name

CONFIG: dict[str, Any] = {
    "proxy": {
        "listener_sets": [{"name": "only", "security_protocol": "SASL_PLAINTEXT"}],
        "state": {},
    },
    "upstream": {"bootstrap": ["one.example:9092"]},
    "tenants": [{"name": "acme", "auth": {"principals": ["alice"]}}],
}


def found(
    state: dict[str, object] | None, prefixes: dict[str, str] | None = None, upstreams: tuple[str, ...] = ()
) -> list[tuple[object, str]]:
    """Return what is wrong with a section `proxy.state`, by its place."""
    config = copy.deepcopy(CONFIG)
    if state is None:
        del config["proxy"]["state"]
    else:
        config["proxy"]["state"] = state
    if prefixes is not None:
        config["tenants"][0]["prefixes"] = prefixes
    if upstreams:
        del config["upstream"]
        config["upstreams"] = [{"name": name, "bootstrap": [f"{name}.example:9092"]} for name in upstreams]
        config["tenants"][0]["upstream"] = upstreams[0]
    return [(one.loc, one.text) for one in find_clashes(config)]


@pytest.mark.parametrize("state", [None, {}, {"partitions": 1}, {"topic": "platform.state"}])
def test_a_state_that_would_do_is_accepted(state: dict[str, object] | None) -> None:
    assert found(state) == []


def test_more_than_one_partition_is_refused_with_the_reason() -> None:
    [(loc, text)] = found({"partitions": 3})

    assert loc == ("proxy", "state", "partitions")
    assert text == (
        "proxy.state.partitions is 3: write 1, because the order of one partition decides which of two changes "
        "was first"
    )


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__bifrost_journal"])
def test_a_topic_with_another_use_is_refused(topic: str) -> None:
    [(loc, text)] = found({"topic": topic})

    assert (loc, "is a topic with another use" in text) == (("proxy", "state", "topic"), True)


@pytest.mark.parametrize(
    ("topic", "prefixes", "kind"),
    [
        ("t1-state", {"topic": "t1-"}, "topic"),
        ("t1.state", {"topic": "t1_"}, "topic"),
        ("platform-state", {"topic": "t1-", "transactional_id": "platform"}, "transactional_id"),
    ],
)
def test_a_topic_that_a_tenant_could_use_is_refused(topic: str, prefixes: dict[str, str], kind: str) -> None:
    [(loc, text)] = found({"topic": topic}, prefixes)

    assert loc == ("proxy", "state", "topic")
    assert f"begins with the {kind} prefix" in text
    assert "of tenant acme" in text


def test_a_topic_in_a_default_namespace_is_refused() -> None:
    assert [loc for loc, _ in found({"topic": physical_name("acme", "state")})] == [
        ("proxy", "state", "topic")
    ] * 2


def test_a_transactional_prefix_that_covers_the_default_topic_is_refused() -> None:
    [(_, text)] = found({}, {"transactional_id": "__bifrost"})

    assert "__bifrost_state begins with the transactional_id prefix __bifrost of tenant acme" in text


def test_with_several_upstreams_one_must_be_named() -> None:
    [(loc, text)] = found({}, upstreams=("one", "two"))

    assert loc == ("proxy", "state")
    assert text == "proxy.state.upstream is missing, and there are several: name one of one, two"
    assert found({"upstream": "two"}, upstreams=("one", "two")) == []
    assert [loc for loc, _ in found({"upstream": "three"})] == [("proxy", "state", "upstream")]


@pytest.mark.parametrize(
    ("exchange", "key", "why"),
    [
        ({"partitions": 2}, "partitions", "every gateway reads all records in one order"),
        ({"topic": "__bifrost_journal"}, "topic", "is a topic with another use"),
        ({"topic": "__consumer_offsets"}, "topic", "is a topic with another use"),
        ({"upstream": "elsewhere"}, "upstream", "no upstream is called elsewhere"),
        ({"topic": physical_name("acme", "x")}, "topic", "of tenant acme"),
    ],
)
def test_a_topic_of_the_quota_exchange_that_would_not_do_is_refused(
    exchange: dict[str, object], key: str, why: str
) -> None:
    config = copy.deepcopy(CONFIG)
    config["proxy"]["quota_exchange"] = exchange

    problems = find_clashes(config)

    assert {one.loc for one in problems} == {("proxy", "quota_exchange", key)}
    assert why in problems[0].text


def test_the_state_and_the_quota_exchange_have_topics_of_their_own() -> None:
    config = copy.deepcopy(CONFIG)
    config["proxy"] |= {"state": {"topic": "same"}, "quota_exchange": {"topic": "same"}}

    assert {one.loc for one in find_clashes(config)} == {
        ("proxy", "state", "topic"),
        ("proxy", "quota_exchange", "topic"),
    }


@pytest.mark.parametrize(
    ("index", "key", "why"),
    [
        ({"partitions": 2}, "partitions", "its order decides which gateway reads logs for the index"),
        ({"topic": "__bifrost_state"}, "topic", "is a topic with another use"),
        ({"topic": physical_name("acme", "x")}, "topic", "of tenant acme"),
    ],
)
def test_a_topic_of_the_partition_index_that_would_not_do_is_refused(
    index: dict[str, object], key: str, why: str
) -> None:
    config = copy.deepcopy(CONFIG)
    del config["proxy"]["state"]
    config["proxy"]["partition_index"] = index
    assert find_clashes(config) == [], "no tenant has virtual partitions"
    config["tenants"][0]["virtual_partitions"] = [{"topics": ["orders"], "ratio": 3}]

    problems = find_clashes(config)

    assert {one.loc for one in problems} == {("proxy", "partition_index", key)}
    assert why in problems[0].text


def test_the_default_topic_of_the_partition_index_is_no_tenants() -> None:
    config = copy.deepcopy(CONFIG)
    del config["proxy"]["state"]
    config["tenants"][0] |= {
        "prefixes": {"topic": "t1-", "transactional_id": "__bifrost"},
        "virtual_partitions": [{"topics": ["orders"], "ratio": 3}],
    }

    [problem] = find_clashes(config)

    assert problem.loc == ("proxy", "partition_index", "topic")

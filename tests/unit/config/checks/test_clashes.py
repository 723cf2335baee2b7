from typing import Any

import pytest

from bifrost.config.checks.clashes import Clash, find_clashes
from support.physical_names import MARK, prefix_of


def tenants(*names: object) -> dict[str, Any]:
    return {"tenants": [{"name": name} for name in names]}


def sets(*ports: dict[str, Any]) -> dict[str, Any]:
    return {"proxy": {"listener_sets": [{"port_range": one} for one in ports]}}


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "text",
        [],
        {},
        {"proxy": None, "tenants": None},
        {"proxy": {"listener_sets": "text"}, "tenants": "text"},
        {"proxy": {"listener_sets": [5, None, {"port_range": 7}]}, "tenants": [5, {"name": 5, "auth": []}]},
        {
            "tenants": [
                {"name": "a", "allowed_topics": [5, None, "x"], "auth": {"credentials": [7, {"username": 1}]}}
            ]
        },
        sets({"bootstrap_port": True, "broker_port_range": {"start": "1", "end": None}}),
    ],
)
def test_malformed_parts_are_passed_over(data: object) -> None:
    assert find_clashes(data) == []


def test_what_is_known_to_be_wrong_takes_no_part() -> None:
    data = tenants("acme", "acme")

    [clash] = find_clashes(data)

    assert clash == Clash(
        ("tenants", 1, "name"),
        "tenant acme is given twice: rename one or merge the two",
        ("tenants", 0, "name"),
    )
    assert find_clashes(data, {("tenants", 0, "name")}) == []
    assert find_clashes(data, {("tenants", 1)}) == []


def test_each_later_tenant_is_reported_once_with_the_first_it_meets() -> None:
    found = find_clashes(tenants("a", "a_b", "a.b.c", "other", "a", "x_y", "x"))

    assert [(clash.loc[1], clash.first[1] if clash.first else None) for clash in found] == [
        (1, 0),
        (2, 0),
        (4, 0),
        (6, 5),
    ]


def test_thousands_of_tenants_are_compared_quickly() -> None:
    names = [f"tenant-{number}" for number in range(5000)]

    assert find_clashes(tenants(*names)) == []
    assert len(find_clashes(tenants(*["same"] * 5000))) == 4999


def test_prefixes_overlap_kind_by_kind_with_those_that_others_have_by_default() -> None:
    mixed = [
        {"name": "a", "prefixes": {"group": "x-"}},
        {"name": "b", "prefixes": {"topic": "x-"}},
        {"name": "c", "prefixes": {"topic": "y-", "group": prefix_of("b")}},
        {"name": "d", "prefixes": {"transactional_id": MARK}},
    ]

    found = find_clashes({"tenants": mixed})

    assert [(clash.loc, clash.first) for clash in found] == [
        (("tenants", 2, "prefixes", "group"), ("tenants", 1, "name")),
        (("tenants", 3, "prefixes", "transactional_id"), ("tenants", 0, "name")),
    ]


def test_listener_sets_share_no_name() -> None:
    data = {"proxy": {"listener_sets": [{"name": "plain"}, {"name": "plain"}]}}

    [clash] = find_clashes(data)

    assert clash.text == "listener set plain is given twice: remove or rename one"


def test_the_room_for_a_topic_depends_on_the_tenants_name() -> None:
    def topic(length: int) -> dict[str, Any]:
        return {"tenants": [{"name": "t" * 64, "allowed_topics": ["x" * length]}]}

    assert find_clashes(topic(179)) == []
    assert "shorten it to 179" in find_clashes(topic(180))[0].text


def on_upstreams(*bootstraps: list[str], names: tuple[str | None, str | None]) -> dict[str, Any]:
    """Two tenants with the same prefixes, on the upstreams of these names."""
    upstreams = [{"name": f"u{index}", "bootstrap": bootstrap} for index, bootstrap in enumerate(bootstraps)]
    prefixes = dict.fromkeys(("topic", "group", "transactional_id"), "t-")
    both = [
        {"name": f"t{index}", "prefixes": prefixes} | ({"upstream": name} if name else {})
        for index, name in enumerate(names)
    ]
    return {"upstreams": upstreams, "tenants": both}


@pytest.mark.parametrize(
    "data",
    [
        on_upstreams(["a:1"], names=("u0", None)),
        on_upstreams(["a:1", "b:1"], ["b:1", "c:1"], names=("u0", "u1")),
        on_upstreams(["a:1"], ["A:1"], names=("u0", "u1")),
        on_upstreams(["a:1"], ["b:1"], ["a:1", "b:1"], names=("u0", "u1")),
        on_upstreams(["a:1"], ["b:1"], ["c:1"], ["b:1", "c:1"], ["c:1", "a:1"], names=("u0", "u1")),
    ],
)
def test_upstreams_that_share_a_broker_are_one_cluster(data: dict[str, Any]) -> None:
    [clash] = find_clashes(data)

    assert clash.loc == ("tenants", 1, "prefixes", "topic")


def test_upstreams_of_other_brokers_keep_tenants_apart() -> None:
    assert find_clashes(on_upstreams(["a:1"], ["a:2"], ["b:1"], names=("u0", "u1"))) == []


@pytest.mark.parametrize(
    ("listener_set", "auth", "reported"),
    [
        ({}, None, [0, 1]),
        ({"security_protocol": "PLAINTEXT", "tenant": "a"}, None, [1]),
        ({"security_protocol": "SSL", "tenant": "b"}, None, [0]),
        ({"security_protocol": "SASL_SSL", "tenant": "b"}, None, [0, 1]),
        ({"security_protocol": "SSL"}, None, [0, 1]),
        ({}, {"credentials": [{"username": "x"}]}, [1]),
        ({}, {"principals": ["x"]}, [1]),
        ({}, {"credentials": (), "principals": ()}, [0, 1]),
    ],
)
def test_a_tenant_without_any_user_is_reported(
    listener_set: dict[str, Any], auth: object, reported: list[int]
) -> None:
    data = tenants("a", "b") | {"proxy": {"listener_sets": [listener_set]}}
    if auth is not None:
        data["tenants"][0]["auth"] = auth

    assert [clash.loc for clash in find_clashes(data)] == [("tenants", index, "auth") for index in reported]
    bad = [("proxy", "listener_sets", 0, "tenant")]
    assert find_clashes(data, bad) == []

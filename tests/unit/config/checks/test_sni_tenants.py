from typing import Any

import pytest

from bifrost.config.checks.clashes import find_clashes


def found(*tenants: str, **hosts: Any) -> list[tuple[tuple[str | int, ...], str]]:
    patterns = {
        "bootstrap_host": "{tenant}.kafka.example.com",
        "broker_host": "b{node_id}-{tenant}.kafka.example.com",
    }
    listener_set = {"name": "one-port", "sni": {"port": 9093} | patterns | hosts}
    data: dict[str, Any] = {
        "proxy": {"listener_sets": [listener_set]},
        "tenants": [{"name": name, "auth": {"principals": [f"CN={name}"]}} for name in tenants],
    }
    return [(clash.loc, clash.text) for clash in find_clashes(data)]


def test_names_that_are_labels_are_fine() -> None:
    assert found("acme", "Globex-1", "b1") == []


@pytest.mark.parametrize("name", ["ac_me", "ac.me", "-acme", "a" * 64])
def test_a_name_that_no_host_can_have_is_refused_where_it_stands(name: str) -> None:
    [(loc, text)] = found("acme", name)

    assert loc == ("tenants", 1, "name")
    assert text.startswith(f"tenant {name} cannot stand in {{tenant}}.kafka.example.com: only 63 letters")


def test_names_that_differ_by_capitals_alone_are_refused() -> None:
    [(loc, text)] = found("acme", "Acme")

    assert loc == ("tenants", 1, "name")
    assert "differs from another by capitals alone" in text


def test_a_tenant_called_as_anothers_broker_is_refused() -> None:
    [(loc, text)] = found("acme", "b1-acme")

    assert loc == ("tenants", 1, "name")
    assert "is the host of a broker as well" in text


def test_patterns_without_a_tenant_ask_nothing_of_names() -> None:
    assert found("ac_me", bootstrap_host="kafka.example.com", broker_host="b{node_id}.example.com") == []


def test_with_a_list_only_names_in_it_have_to_fit() -> None:
    assert found("acme", "ac_me", "Acme", tenants=["acme"]) == []
    [(loc, text)] = found("acme", "ac_me", tenants=["acme", "ac_me"])
    assert (loc, "cannot stand in" in text) == (("tenants", 1, "name"), True)


def test_a_name_in_the_list_that_is_no_tenants_is_refused_where_it_stands() -> None:
    assert found("acme", "globex", tenants=["acme", "initech"]) == [
        (
            ("proxy", "listener_sets", 0, "sni", "tenants", 1),
            "there is no tenant initech: write some of acme, globex, or add it to tenants",
        )
    ]


def test_a_name_that_is_listed_twice_is_refused() -> None:
    at = ("proxy", "listener_sets", 0, "sni", "tenants", 1)

    assert found("acme", tenants=["acme", "acme"]) == [(at, "tenant acme is listed twice: remove one")]


@pytest.mark.parametrize("tenants", ["acme", 5, [5], {}])
def test_a_list_that_is_malformed_is_passed_over(tenants: object) -> None:
    assert found("acme", tenants=tenants) == []


@pytest.mark.parametrize("broken", [{"sni": 5}, {"sni": {"bootstrap_host": 5}}, {}])
def test_what_is_malformed_is_passed_over(broken: dict[str, Any]) -> None:
    assert (
        find_clashes(
            {
                "proxy": {"listener_sets": [broken]},
                "tenants": [{"name": "ac_me", "auth": {"principals": ["CN=a"]}}],
            }
        )
        == []
    )

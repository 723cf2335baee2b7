import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.config.fields.server_names import ServerNames, Wanted, is_label

NAMES = ServerNames("{tenant}.kafka.example.com", "b{node_id}-{tenant}.kafka.example.com", 9093)
PLAIN = ServerNames("kafka.example.com", "broker-{node_id}.kafka.example.com", 443)

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("acme.kafka.example.com", Wanted(None, "acme")),
        ("ACME.Kafka.Example.com.", Wanted(None, "acme")),
        ("b0-acme.kafka.example.com", Wanted(0, "acme")),
        ("b12-acme-eu.kafka.example.com", Wanted(12, "acme-eu")),
        ("kafka.example.com", None),
        ("b1-.kafka.example.com", None),
        ("x.acme.kafka.example.com", None),
        ("acme.kafka.example.org", None),
        ("acmexkafka.example.com", None),
        ("", None),
    ],
)
def test_a_host_name_stands_for_a_broker_of_a_tenant(name: str, expected: Wanted | None) -> None:
    assert NAMES.wanted(name) == expected


def test_without_a_tenant_in_the_patterns_it_is_for_any_tenant() -> None:
    assert not PLAIN.names_tenants
    assert PLAIN.wanted("kafka.example.com") == Wanted(None, None)
    assert PLAIN.wanted("broker-3.kafka.example.com") == Wanted(3, None)
    assert PLAIN.wanted("broker-03.kafka.example.com") is None
    assert PLAIN.address_of(3, "acme") == ("broker-3.kafka.example.com", 443)
    assert PLAIN.host_for("acme") == "kafka.example.com"


@given(node_id=st.integers(0, 2**31 - 1), tenant=labels)
def test_what_a_client_is_told_leads_back(node_id: int, tenant: str) -> None:
    host, port = NAMES.address_of(node_id, tenant)

    assert port == 9093
    assert NAMES.wanted(host) == Wanted(node_id, tenant)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("acme", True),
        ("Acme-1", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("a.b", False),
        ("a_b", False),
        ("-a", False),
    ],
)
def test_only_some_names_can_stand_in_a_host_name(name: str, expected: bool) -> None:
    assert is_label(name) is expected

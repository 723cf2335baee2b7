"""What a gateway builds from its configuration; that it serves is in tests/kafka."""

from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.config.secrets import Secret
from bifrost.gateway.gateway import Gateway, now_ms
from bifrost.session.close_reason import CloseReason

CONFIG: dict[str, Any] = {
    "proxy": {
        "listener_sets": [
            {
                "name": "plaintext",
                "port_range": {
                    "advertised_host": "proxy.example.com",
                    "bootstrap_port": 9092,
                    "broker_port_range": {"start": 9093, "end": 9095},
                },
            }
        ],
        "limits": {"max_connections": 2, "max_in_flight_requests": 7, "max_names_per_namespace": 100},
    },
    "upstream": {"bootstrap": ["kafka-1.internal:9092"]},
    "tenants": [
        {
            "name": name,
            "allowed_topics": topics,
            "allow_topic_deletion": name == "globex",
            "auth": {
                "credentials": [
                    {"username": user, "password_file": "f", "password": Secret(user.encode())}
                    for user in users
                ]
            },
        }
        for name, topics, users in (("acme", ["orders"], ["acme", "acme-2"]), ("globex", None, ["globex"]))
    ],
}


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(Config.model_validate(CONFIG))


def test_every_tenant_has_its_namespace(gateway: Gateway) -> None:
    acme, globex = gateway.shared.namespaces["acme"], gateway.shared.namespaces["globex"]

    assert (acme.names.allowed_topics, globex.names.allowed_topics) == (frozenset({b"orders"}), None)
    assert (acme.allow_topic_deletion, globex.allow_topic_deletion) == (False, True)
    assert acme.topic_ids is globex.topic_ids


def test_every_user_has_an_account_of_its_tenant(gateway: Gateway) -> None:
    accounts = gateway.shared.accounts

    assert {name: account.tenant for name, account in accounts.items()} == {
        "acme": "acme",
        "acme-2": "acme",
        "globex": "globex",
    }
    assert accounts["acme-2"].password.matches(b"acme-2")


def test_limits_are_those_of_the_configuration(gateway: Gateway) -> None:
    assert gateway.shared.max_in_flight_requests == 7
    assert gateway.limits.max_connections == 2


def test_masks_are_random(gateway: Gateway) -> None:
    masks = {
        space.masked_ids.mask(bytes([number]) * 16)
        for space in gateway.shared.namespaces.values()
        for number in range(1, 50)
    }

    assert len(masks) == 98
    assert {len(one) for one in masks} == {16}


def test_connections_are_counted_in_and_out(gateway: Gateway) -> None:
    first, second, third = (object() for _ in range(3))

    assert [gateway.admit(one) for one in (first, second, third)] == [True, True, False]  # type: ignore[arg-type]
    gateway.forget(third)  # type: ignore[arg-type]
    gateway.forget(first)  # type: ignore[arg-type]
    assert gateway.admit(third)  # type: ignore[arg-type]


def test_ends_are_counted_by_reason(gateway: Gateway) -> None:
    for reason in (CloseReason.HTTP, CloseReason.HTTP, CloseReason.MALFORMED):
        gateway.count_end(reason)

    assert gateway.ends == {CloseReason.HTTP: 2, CloseReason.MALFORMED: 1}


def test_the_clock_only_goes_forward() -> None:
    first = now_ms()

    assert 0 < first <= now_ms() < first + 60_000

"""What the engine looks up in answers to the clients of a listener."""

import pytest

from bifrost.tenancy.answer_names import MAX_ADDRESSES, MAX_LISTENERS, answer_names
from bifrost.tenancy.brokers import BrokerPorts
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.entity import Entity
from bifrost.wire.program import SLOT_ADDRESS
from support.physical_names import physical_name
from support.stage.stage import PORTS, Stage


@pytest.fixture
def acme(stage: Stage) -> Namespace:
    return stage.namespaces["acme"]


def node_id(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def test_a_broker_is_at_the_port_of_the_listener(acme: Namespace) -> None:
    names = answer_names(acme, PORTS)

    assert names.missing(SLOT_ADDRESS, node_id(2)) == b"proxy.example.com" + (9094).to_bytes(4, "big")
    assert list(names.tables[SLOT_ADDRESS] or ()) == [node_id(2)]


@pytest.mark.parametrize("number", [-1, 0, 4, 2**31 - 1])
def test_a_broker_without_a_port_has_no_address(acme: Namespace, number: int) -> None:
    names = answer_names(acme, PORTS)

    assert names.missing(SLOT_ADDRESS, node_id(number)) is None
    assert names.tables[SLOT_ADDRESS] == {}


def test_names_are_those_of_the_tenant_wherever_its_clients_come_in(acme: Namespace) -> None:
    other = BrokerPorts(advertised_host="other.example.com", start=1, end=3, broker_id_base=1)
    here, there = answer_names(acme, PORTS), answer_names(acme, other)

    assert here.missing(Entity.TOPIC_NAME, physical_name("acme", "orders").encode()) == b"orders"
    assert there.tables[Entity.TOPIC_NAME] == {physical_name("acme", "orders").encode(): b"orders"}
    assert there.missing(SLOT_ADDRESS, node_id(1)) != here.missing(SLOT_ADDRESS, node_id(1))
    acme.change(["orders"], [], allow_topic_deletion=False, max_names=10)
    assert there.tables[Entity.TOPIC_NAME] == {}


def test_the_same_is_given_to_all_who_come_in_at_one_place(stage: Stage, acme: Namespace) -> None:
    assert answer_names(acme, PORTS) is answer_names(acme, PORTS)
    assert answer_names(stage.namespaces["globex"], PORTS) is not answer_names(acme, PORTS)


def test_neither_listeners_nor_addresses_grow_without_bound(acme: Namespace) -> None:
    wide = BrokerPorts(advertised_host="h", start=1, end=50_000, broker_id_base=1)
    names = answer_names(acme, wide)
    for number in range(1, MAX_ADDRESSES + 2):
        names.missing(SLOT_ADDRESS, node_id(number))
    for number in range(2 * MAX_LISTENERS):
        answer_names(acme, BrokerPorts(advertised_host=f"h{number}", start=1, end=2, broker_id_base=1))

    assert len(names.tables[SLOT_ADDRESS] or ()) == 1
    assert len(acme.at_listeners) <= MAX_LISTENERS

import time

from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics
from bifrost.forwarding.lane_names import lane_names
from bifrost.tenancy.brokers import BrokerPorts
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule
from bifrost.wire.api_keys import ApiKey
from support.physical_names import prefix_of
from support.stage.filtered import headers, topics_of
from support.stage.guards import allow, guard_of
from support.stage.stage import PORTS, Stage

OTHER_PORTS = BrokerPorts(advertised_host="other.example.com", start=9093, end=9095, broker_id_base=1)


def test_names_of_a_namespace_at_a_listener_are_the_same_objects_each_time(stage: Stage) -> None:
    acme = stage.namespaces["acme"]

    names = lane_names(acme, PORTS)

    assert names == lane_names(acme, PORTS)
    assert names.to_physical is acme.to_physical
    assert names.client_id_prefix == prefix_of("acme").encode()


def test_another_listener_has_other_addresses_in_answers(stage: Stage) -> None:
    here, there = (lane_names(stage.namespaces["acme"], ports) for ports in (PORTS, OTHER_PORTS))

    assert here.to_physical is there.to_physical
    assert here.to_virtual is not there.to_virtual


def test_another_namespace_has_names_of_its_own(stage: Stage) -> None:
    acme, globex = (lane_names(stage.namespaces[name], PORTS) for name in ("acme", "globex"))
    unchanged = lane_names(Stage(namespaces_client_ids=False).namespaces["acme"], PORTS)

    assert acme.to_physical is not globex.to_physical
    assert acme.to_virtual is not globex.to_virtual
    assert unchanged.client_id_prefix is None


def test_a_name_that_no_layer_knows_costs_more_with_each_of_them(stage: Stage) -> None:
    guard = guard_of(stage, allow("READ", "orders"))
    records = topics_of(stage, headers({"topics": ["orders"]}, add=[{"key": "region", "value": "eu"}]))
    virtual = TenantVirtualTopics([PartitionRule(("orders",), PartitionMap(5, 2))], wall_s=time.time).topics(
        guard.namespace, guard
    )
    layers = (None, None, None), (guard, None, None), (guard, records, None), (guard, records, virtual)
    costs = []
    for one in layers:
        names = lane_names(guard.namespace, PORTS, *one).of_api(ApiKey.LIST_OFFSETS)
        answers = lane_names(guard.namespace, PORTS, *one).of_api(ApiKey.FETCH)
        assert names.to_physical.miss_steps == answers.to_virtual.miss_steps
        costs.append(names.to_physical.miss_steps)

    assert costs == [64, 224, 544, 624]

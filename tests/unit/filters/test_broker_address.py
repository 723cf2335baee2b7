import pytest

from bifrost.filters.broker_address import BrokerAddressFilter
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import Stage

NO_COORDINATOR = ErrorCode.COORDINATOR_NOT_AVAILABLE


def physical(node_id: int) -> dict[str, object]:
    return {"node_id": node_id, "host": f"kafka-{node_id}.internal", "port": 9092}


def virtual(node_id: int) -> dict[str, object]:
    return {"node_id": node_id, "host": "proxy.example.com", "port": 9092 + node_id}


def filtered(stage: Stage, message, version: int):
    BrokerAddressFilter().on_response(stage.exchange(version), message)
    return message


@pytest.mark.parametrize("version", [0, 8, 13])
def test_brokers_are_at_the_ports_of_the_listener(stage: Stage, version: int) -> None:
    message = messages.MetadataResponse(brokers=[physical(1), physical(3)])

    assert filtered(stage, message, version) == messages.MetadataResponse(brokers=[virtual(1), virtual(3)])


@pytest.mark.parametrize("node_id", [0, 4, -1, 2**31 - 1])
def test_a_broker_without_a_port_is_left_out(stage: Stage, node_id: int) -> None:
    message = messages.MetadataResponse(brokers=[physical(node_id), physical(2)])

    assert filtered(stage, message, 9) == messages.MetadataResponse(brokers=[virtual(2)])


def test_the_brokers_of_a_cluster_are_named_by_another_field(stage: Stage) -> None:
    message = messages.DescribeClusterResponse(
        brokers=[{"broker_id": 2, "host": "kafka-2.internal", "port": 9092, "rack": "a"}]
    )
    expected = messages.DescribeClusterResponse(
        brokers=[{"broker_id": 2, "host": "proxy.example.com", "port": 9094, "rack": "a"}]
    )

    assert filtered(stage, message, 0) == expected


@pytest.mark.parametrize("version", [0, 1, 3])
def test_the_one_coordinator_is_in_the_message_itself(stage: Stage, version: int) -> None:
    message = messages.FindCoordinatorResponse(**physical(2))

    assert filtered(stage, message, version) == messages.FindCoordinatorResponse(**virtual(2))


@pytest.mark.parametrize("version", [0, 3])
def test_a_coordinator_without_a_port_is_not_available(stage: Stage, version: int) -> None:
    message = messages.FindCoordinatorResponse(**physical(7))

    assert filtered(stage, message, version) == messages.FindCoordinatorResponse(
        error_code=NO_COORDINATOR, node_id=-1, host="", port=-1
    )


@pytest.mark.parametrize("version", [4, 6])
def test_each_of_several_coordinators_stands_for_itself(stage: Stage, version: int) -> None:
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    failed = {"key": "c", "node_id": -1, "host": "", "port": -1, "error_code": error}
    message = messages.FindCoordinatorResponse(
        coordinators=[{"key": "a", **physical(1)}, {"key": "b", **physical(9)}, failed]
    )
    unreachable = {"key": "b", "node_id": -1, "host": "", "port": -1, "error_code": NO_COORDINATOR}

    assert filtered(stage, message, version) == messages.FindCoordinatorResponse(
        coordinators=[{"key": "a", **virtual(1)}, unreachable, failed]
    )


@pytest.mark.parametrize(("name", "version"), [("ProduceResponse", 10), ("FetchResponse", 16)])
def test_leader_hints_are_translated_or_left_out(stage: Stage, name: str, version: int) -> None:
    message = messages.build(name, {"node_endpoints": [physical(3), physical(5)]})

    assert filtered(stage, message, version) == messages.build(name, {"node_endpoints": [virtual(3)]})


@pytest.mark.parametrize(("name", "version"), [("ProduceResponse", 9), ("FetchResponse", 15)])
def test_versions_without_hints_have_none(stage: Stage, name: str, version: int) -> None:
    assert filtered(stage, messages.build(name, {}), version) == messages.build(name, {})

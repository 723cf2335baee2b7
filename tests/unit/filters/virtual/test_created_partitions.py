from dataclasses import replace
from typing import Any

import pytest

from bifrost.config.policies.policy import Policy
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import TENANTS, Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
DELETED = [{"name": "cleanup.policy", "value": "delete"}]
NUMBER = "The topic has 5 virtual partitions; the operator of the gateway sets how many"
COMPACTED = (
    "the topic cannot be compacted: virtual partitions would share their keys, unless the operator's rule for them "
    "says that its topics are compacted"
)


def wanted(**topics: Any) -> Any:
    entries = [{"name": name, "replication_factor": 1, **fields} for name, fields in topics.items()]
    return messages.build("CreateTopicsRequest", {"topics": entries, "timeout_ms": 1000})


def made(*topics: dict[str, Any]) -> Any:
    return messages.build("CreateTopicsResponse", {"topics": list(topics)})


@pytest.mark.parametrize("number", [5, -1])
def test_the_physical_partitions_are_created(stage: Stage, number: int) -> None:
    divided(stage, "orders")
    expected = {ORDERS: {"num_partitions": 2, "configs": DELETED}, BILLING: {"num_partitions": 5}}

    assert (
        stage.play()
        >> client_sends(wanted(orders={"num_partitions": number}, billing={"num_partitions": 5}), 5)
        << to_broker(wanted(**expected))
        >> broker_answers(made({"name": ORDERS, "num_partitions": 2}, {"name": BILLING, "num_partitions": 5}))
        << to_client(made({"name": "orders", "num_partitions": 5}, {"name": "billing", "num_partitions": 5}))
    )


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        ({"num_partitions": 2}, ErrorCode.INVALID_PARTITIONS, NUMBER),
        ({"num_partitions": 6}, ErrorCode.INVALID_PARTITIONS, f"{NUMBER}, and can raise it to 1024"),
        (
            {"num_partitions": 5, "configs": [{"name": "cleanup.policy", "value": "delete,compact"}]},
            ErrorCode.INVALID_CONFIG,
            COMPACTED,
        ),
    ],
)
def test_what_cannot_be_is_refused_beside_other_topics(
    stage: Stage, fields: dict[str, Any], code: ErrorCode, text: str
) -> None:
    divided(stage, "orders")
    refused = {
        "name": "orders",
        "error_code": int(code),
        "error_message": text,
        "num_partitions": -1,
        "replication_factor": -1,
    }

    assert (
        stage.play()
        >> client_sends(wanted(orders=fields, billing={"num_partitions": 1}), 5)
        << to_broker(wanted(**{BILLING: {"num_partitions": 1}}))
        >> broker_answers(made({"name": BILLING, "num_partitions": 1}))
        << to_client(made({"name": "billing", "num_partitions": 1}, refused))
    )


def test_other_configs_stay(stage: Stage) -> None:
    divided(stage, "orders")
    configs = [{"name": "retention.ms", "value": "1"}, *DELETED]

    assert (
        stage.play()
        >> client_sends(wanted(orders={"num_partitions": 5, "configs": configs}), 5)
        << to_broker(wanted(**{ORDERS: {"num_partitions": 2, "configs": configs}}))
        >> broker_answers(made({"name": ORDERS, "num_partitions": 2}))
        << to_client(made({"name": "orders", "num_partitions": 5}))
    )


@pytest.mark.parametrize(("number", "stored"), [(6, 2), (3_000, 1_000), (-1, -1)])
def test_with_a_ratio_a_topic_has_as_many_as_its_client_asks_for(
    stage: Stage, number: int, stored: int
) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))
    made_by_brokers = 2 if stored == -1 else stored

    assert (
        stage.play()
        >> client_sends(wanted(orders={"num_partitions": number}), 5)
        << to_broker(wanted(**{ORDERS: {"num_partitions": stored, "configs": DELETED}}))
        >> broker_answers(made({"name": ORDERS, "num_partitions": made_by_brokers}))
        << to_client(made({"name": "orders", "num_partitions": 3 * made_by_brokers}))
    )


@pytest.mark.parametrize(
    ("number", "would_do"), [(1, 3), (5, 6), (7, 9), (0, 3), (-2, 3), (3_001, 3_000), (2**31 - 1, 3_000)]
)
def test_with_a_ratio_numbers_are_multiples_of_it(stage: Stage, number: int, would_do: int) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))
    text = f"The number of virtual partitions is a multiple of 3, at most 3000: {would_do} would do"
    refused = {"name": "orders", "error_code": int(ErrorCode.INVALID_PARTITIONS), "error_message": text}
    created = {**refused, "num_partitions": -1, "replication_factor": -1}

    assert (
        stage.play()
        >> client_sends(wanted(orders={"num_partitions": number}), 5)
        << to_broker(wanted())
        >> broker_answers(made())
        << to_client(made(created))
        >> client_sends(added(orders=number), 3)
        << to_broker(added())
        >> broker_answers(answered())
        << to_client(answered(refused))
    )


def added(*, validate_only: bool = False, assignments: Any = None, **topics: int) -> Any:
    entries = [{"name": one, "count": count, "assignments": assignments} for one, count in topics.items()]
    return messages.build("CreatePartitionsRequest", {"topics": entries, "validate_only": validate_only})


def answered(*results: dict[str, Any]) -> Any:
    return messages.build("CreatePartitionsResponse", {"results": list(results)})


@pytest.mark.parametrize("validate_only", [False, True])
def test_with_a_ratio_the_physical_partitions_are_added(stage: Stage, validate_only: bool) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))

    assert (
        stage.play()
        >> client_sends(added(orders=12, billing=5, validate_only=validate_only), 3)
        << to_broker(added(**{ORDERS: 4, BILLING: 5}, validate_only=validate_only))
        >> broker_answers(answered({"name": ORDERS}, {"name": BILLING}))
        << to_client(answered({"name": "orders"}, {"name": "billing"}))
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Topic already has 4 partition(s).", "The topic has 12 virtual partitions: 12 would not be more"),
        ("Topic already has 4 partitions.", "The topic has 12 virtual partitions: 12 would not be more"),
        (
            f"The topic {ORDERS} currently has 5 partition(s); 4 would not be an increase.",
            "The topic has 15 virtual partitions: 12 would not be more",
        ),
        (None, "The topic has enough virtual partitions: 12 would not be more"),
    ],
)
def test_what_a_broker_says_of_its_partitions_is_said_of_virtual_ones(
    stage: Stage, told: str | None, expected: str
) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))
    refused = {"name": ORDERS, "error_code": int(ErrorCode.INVALID_PARTITIONS), "error_message": told}

    assert (
        stage.play()
        >> client_sends(added(orders=12), 3)
        << to_broker(added(**{ORDERS: 4}))
        >> broker_answers(answered(refused))
        << to_client(answered({**refused, "name": "orders", "error_message": expected}))
    )


def test_brokers_place_new_partitions() -> None:
    policy = ResourcePolicy(Policy(allow_replica_assignments=True))
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], policy=policy)})
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))
    refused = {
        "name": "orders",
        "error_code": int(ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        "error_message": "Virtual partitions cannot be added with an assignment of replicas",
    }

    assert (
        stage.play()
        >> client_sends(added(orders=12, assignments=[{"broker_ids": [1]}]), 3)
        << to_broker(added())
        >> broker_answers(answered())
        << to_client(answered(refused))
    )


def test_fixed_numbers_are_the_operators(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(*topics: str) -> Any:
        return messages.build(
            "CreatePartitionsRequest", {"topics": [{"name": one, "count": 9} for one in topics]}
        )

    text = f"{NUMBER}, and can raise it to 1024"
    refused = {"name": "orders", "error_code": int(ErrorCode.INVALID_PARTITIONS), "error_message": text}
    assert (
        stage.play()
        >> client_sends(asked("orders", "billing"), 3)
        << to_broker(asked(BILLING))
        >> broker_answers(messages.build("CreatePartitionsResponse", {"results": [{"name": BILLING}]}))
        << to_client(messages.build("CreatePartitionsResponse", {"results": [{"name": "billing"}, refused]}))
    )


@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
def test_topics_are_not_compacted_later(stage: Stage, api: str) -> None:
    divided(stage, "orders")

    def asked(**policies: str) -> Any:
        resources = [
            {
                "resource_type": 2,
                "resource_name": one,
                "configs": [{"name": "cleanup.policy", "value": value}],
            }
            for one, value in policies.items()
        ]
        return messages.build(f"{api}Request", {"resources": resources})

    def told(*results: dict[str, Any]) -> Any:
        return messages.build(
            f"{api}Response", {"responses": [{"resource_type": 2, **one} for one in results]}
        )

    refused = {
        "resource_name": "orders",
        "error_code": int(ErrorCode.INVALID_CONFIG),
        "error_message": COMPACTED,
    }
    assert (
        stage.play()
        >> client_sends(asked(orders="compact", billing="compact"), 1)
        << to_broker(asked(**{BILLING: "compact"}))
        >> broker_answers(told({"resource_name": BILLING}))
        << to_client(told({"resource_name": "billing"}, refused))
        >> client_sends(asked(orders="delete"), 1)
        << to_broker(asked(**{ORDERS: "delete"}))
        >> broker_answers(told({"resource_name": ORDERS}))
        << to_client(told({"resource_name": "orders"}))
    )

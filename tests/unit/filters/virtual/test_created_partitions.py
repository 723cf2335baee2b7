from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
DELETED = [{"name": "cleanup.policy", "value": "delete"}]
NUMBER = "The topic has 5 virtual partitions; the operator of the gateway sets how many"
COMPACTED = "topics with virtual partitions cannot be compacted: virtual partitions would share their keys"


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
        ({"num_partitions": 6}, ErrorCode.INVALID_PARTITIONS, NUMBER),
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


def test_partitions_are_not_added(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(*topics: str) -> Any:
        return messages.build(
            "CreatePartitionsRequest", {"topics": [{"name": one, "count": 9} for one in topics]}
        )

    refused = {"name": "orders", "error_code": int(ErrorCode.INVALID_PARTITIONS), "error_message": NUMBER}
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

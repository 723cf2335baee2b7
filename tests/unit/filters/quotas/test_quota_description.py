"""DescribeClientQuotas: what a tenant is told of its quotas."""

from typing import Any

import pytest

from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.playbook import client_sends, to_client
from support.stage.stage import Stage

RATE, OTHER = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE
EXACT, DEFAULT_NAME, SPECIFIED = range(3)

ENTITIES = {
    "users/alice": ([("user", "alice")], 1.0),
    "users/<default>": ([("user", None)], 2.0),
    "clients/app": ([("client-id", "app")], 3.0),
    "users/alice/clients/app": ([("user", "alice"), ("client-id", "app")], 4.0),
    "users/<default>/clients/<default>": ([("user", None), ("client-id", None)], 5.0),
}


@pytest.fixture(autouse=True)
def quotas(stage: Stage) -> None:
    table = stage.shared.quota_tables.table("acme")
    for text, (_, rate) in ENTITIES.items():
        table.put(QuotaEntity.from_text(text), {RATE: rate})
    stage.shared.quota_tables.table("globex").put(QuotaEntity("alice"), {RATE: 99.0})


def asked(*components: tuple[str, int, str | None], strict: bool = False) -> Any:
    return messages.DescribeClientQuotasRequest(
        components=[
            {"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components
        ],
        strict=strict,
    )


def told(*texts: str) -> Any:
    return messages.DescribeClientQuotasResponse(
        entries=[
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in parts],
                "values": [{"key": "producer_byte_rate", "value": rate}],
            }
            for parts, rate in (ENTITIES[text] for text in sorted(texts))
        ]
    )


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("request_", "texts"),
    [
        (asked(), list(ENTITIES)),
        (asked(strict=True), []),
        (asked(("user", EXACT, "alice")), ["users/alice", "users/alice/clients/app"]),
        (asked(("user", EXACT, "alice"), strict=True), ["users/alice"]),
        (asked(("user", DEFAULT_NAME, None)), ["users/<default>", "users/<default>/clients/<default>"]),
        (asked(("client-id", SPECIFIED, None), strict=True), ["clients/app"]),
        (
            asked(("user", SPECIFIED, None), ("client-id", SPECIFIED, None)),
            ["users/alice/clients/app", "users/<default>/clients/<default>"],
        ),
        (asked(("user", EXACT, "bob")), []),
    ],
)
def test_the_entities_that_match_are_told(
    stage: Stage, version: int, request_: Any, texts: list[str]
) -> None:
    assert stage.play() >> client_sends(request_, version) << to_client(told(*texts))


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        (asked(("", SPECIFIED, None)), ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        (
            asked(("user", SPECIFIED, None), ("user", EXACT, "a")),
            ErrorCode.INVALID_REQUEST,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (asked(("ip", SPECIFIED, None)), ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type ip"),
        (
            asked(("user", EXACT, None)),
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            asked(("user", SPECIFIED, "a")),
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        (
            asked(("user", DEFAULT_NAME, "a")),
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (asked(("user", 7, None)), ErrorCode.INVALID_REQUEST, "Unknown match type 7"),
    ],
)
def test_a_filter_that_kafka_refuses_is_refused_in_its_words(
    stage: Stage, request_: Any, code: ErrorCode, text: str
) -> None:
    refused = messages.DescribeClientQuotasResponse(error_code=code, error_message=text, entries=None)

    assert stage.play() >> client_sends(request_, 1) << to_client(refused)


def test_what_the_operator_gave_is_told_and_of_two_values_the_lower(stage: Stage) -> None:
    table = stage.shared.quota_tables.table("initech")
    table.give(
        {
            NAMESPACE: {RATE: 1e9},
            QuotaEntity(DEFAULT): {RATE: 100.0, OTHER: 200.0},
            QuotaEntity("alice"): {RATE: 50.0},
        }
    )
    table.put(QuotaEntity(DEFAULT), {RATE: 10.0, OTHER: 300.0})

    values = {"users/<default>": [("consumer_byte_rate", 200.0), ("producer_byte_rate", 10.0)]}
    values["users/alice"] = [("producer_byte_rate", 50.0)]
    expected = messages.DescribeClientQuotasResponse(
        entries=[
            {
                "entity": [{"entity_type": "user", "entity_name": name}],
                "values": [{"key": key, "value": value} for key, value in values[text]],
            }
            for text, name in (("users/<default>", None), ("users/alice", "alice"))
        ]
    )
    assert stage.play("initech") >> client_sends(asked(), 1) << to_client(expected)

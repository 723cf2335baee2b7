"""What administrators ask for about quotas.

Through the gateway nothing is set: the tenant of these scenarios may set quotas, and its gateway has no state. What a
gateway with a state does is in tenancy/test_quota_administration.py.
"""

from __future__ import annotations

from typing import Any

from bifrost.wire.messages import AlterClientQuotasRequest, DescribeClientQuotasRequest
from support.forgery.worlds import World

USER, CLIENT_ID = "user", "client-id"
EXACT, DEFAULT, SPECIFIED = range(3)
RATE = "producer_byte_rate"


def describe_client_quotas(world: World, version: int) -> None:
    for components in (
        [(USER, EXACT, "eq-nobody")],
        [(USER, EXACT, "eq-nobody"), (CLIENT_ID, DEFAULT, None)],
        [(USER, EXACT, None)],
        [(USER, DEFAULT, "eq-nobody")],
        [(CLIENT_ID, SPECIFIED, "eq-nobody")],
        [(USER, 9, None)],
        [("", EXACT, "eq-nobody")],
        [("planet", EXACT, "eq-nobody")],
        [(USER, EXACT, "eq-nobody"), (USER, SPECIFIED, None)],
    ):
        request = DescribeClientQuotasRequest(
            components=[
                DescribeClientQuotasRequest.ComponentData(entity_type=kind, match_type=how, match=match)
                for kind, how, match in components
            ],
            strict=True,
        )
        world.ask(request, version)


def alter_client_quotas(world: World, version: int) -> None:
    alice = {USER: "eq-alice"}
    for entity, ops in (
        (alice, [(RATE, 1024.0)]),
        ({USER: None, CLIENT_ID: "eq-app"}, [(RATE, 1.0), ("consumer_byte_rate", 2.0)]),
        ({CLIENT_ID: None}, [("request_percentage", 0.5), ("controller_mutation_rate", 0.25)]),
        (alice, [(RATE, None), ("planet", None)]),
        (alice, [(RATE, 0.0)]),
        (alice, [(RATE, -1.0)]),
        (alice, [(RATE, 1.5)]),
        (alice, [(RATE, 1e19)]),
        (alice, [("planet", 1.0)]),
        (alice, [("connection_creation_rate", 1.0)]),
        (alice, [(RATE, 1.0), (RATE, 2.0)]),
        (alice, []),
        ({}, [(RATE, 1.0)]),
        ({USER: ""}, [(RATE, 1.0)]),
        ({"planet": "earth"}, [(RATE, 1.0)]),
    ):
        world.ask(alteration((entity, ops), validate_only=True), version)
    twice = (alice, [(RATE, 1.0)])
    world.ask(alteration(twice, twice, validate_only=True), version)


def alteration(
    *entries: tuple[dict[str, str | None], list[tuple[str, float | None]]], validate_only: bool = False
) -> Any:
    """Build a request; a value of None removes a quota."""
    message = AlterClientQuotasRequest
    return message(
        entries=[
            message.EntryData(
                entity=[
                    message.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()
                ],
                ops=[
                    message.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                    for key, value in ops
                ],
            )
            for entity, ops in entries
        ],
        validate_only=validate_only,
    )

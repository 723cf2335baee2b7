"""Every message of every API and version that is served: nothing of one side shows through to the other.

The messages are filled by what their fields mean, so a new API or version is covered from the day it is classified.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from bifrost.session.client_session import _OWN_APIS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entities import REFUSED, SERVED, entities_of, served_versions
from bifrost.wire.entity import Entity
from bifrost.wire.message import Struct
from bifrost.wire.schema import Field, FieldType, request_schema, response_schema
from support.messages import consumer_payload
from support.playbook import Playbook, client_sends, read_request, response_frame, split_frames
from support.sample import sample
from support.stage import PHYSICAL_CLUSTER_ID, Stage

HOST, CLIENT_HOST, LOG_DIR = "kafka-1.internal", "/10.11.12.13", "/var/lib/kafka/data-0"
OWN_ID, FOREIGN_ID = b"an own topic ID.", b"a foreign one's."
SECRETS = [b"__vt_", HOST.encode(), PHYSICAL_CLUSTER_ID.encode(), b"10.11.12.13", LOG_DIR.encode()]
"""What no client may ever see."""

ANSWERED_HERE = {
    # Topics are not deleted unless it is allowed, so no request reaches the broker.
    ApiKey.DELETE_TOPICS
}
FORWARDED = [
    pytest.param(key, version, id=f"{key.name}-v{version}")
    for key in SERVED
    if key not in _OWN_APIS and key not in ANSWERED_HERE
    for version in served_versions(key) or ()
]


def payload(kind: str, topic: str) -> bytes:
    """A subscription or an assignment at its newest version with one topic."""
    partition = {"topic": topic, "partitions": [0]}
    if kind == "Subscription":
        return consumer_payload(kind, 3, topics=[topic], owned_partitions=[partition])
    return consumer_payload(kind, 3, assigned_partitions=[partition])


_VIRTUAL: dict[Entity, Callable[[str], Any]] = {
    Entity.TOPIC_NAME: lambda prefix: f"{prefix}orders",
    Entity.RESOURCE_NAME: lambda prefix: f"{prefix}orders",
    Entity.GROUP_ID: lambda prefix: f"{prefix}a-group",
    Entity.COORDINATOR_KEY: lambda prefix: f"{prefix}a-group",
    Entity.TRANSACTIONAL_ID: lambda prefix: f"{prefix}a-transaction",
    Entity.ERROR_TEXT: lambda prefix: f"No topic '{prefix}orders', nor {prefix}a-group",
    Entity.SUBSCRIPTION: lambda prefix: payload("Subscription", f"{prefix}orders"),
    Entity.ASSIGNMENT: lambda prefix: payload("Assignment", f"{prefix}orders"),
}
_PHYSICAL = {
    Entity.BROKER_HOST: HOST,
    Entity.CLIENT_HOST: CLIENT_HOST,
    Entity.CLUSTER_ID: PHYSICAL_CLUSTER_ID,
    Entity.LOG_DIR: LOG_DIR,
    Entity.FOLLOWER: bytes(16),
}


def value(entity: Entity, field: Field, *, prefix: str, own_id: bytes) -> Any:
    """What a field of this meaning holds, on the side where names begin with `prefix`."""
    if entity is Entity.NEUTRAL:
        return neutral(field)
    if entity is Entity.TOPIC_ID:
        return own_id
    if entity in _PHYSICAL:
        return _PHYSICAL[entity]
    assert entity in _VIRTUAL, f"say here what a field that means {entity.name} holds"
    return _VIRTUAL[entity](prefix)


def neutral(field: Field) -> Any:
    """Something in a field that means the same on both sides."""
    match field.type:
        case FieldType.STRING:
            return "neutral"
        case FieldType.UUID:
            return b"a neutral uuid.."
        case _:
            return b"neutral"


def request_of(api_key: int, version: int, **options: Any) -> Any:
    """A request with every field filled; a patient one, for what the gateway looks at itself."""
    name = request_schema(api_key).name
    request: Any = sample(name, version, lambda entity, field: value(entity, field, **options))
    if name == "DescribeConfigsRequest" or name.endswith("AlterConfigsRequest"):
        assert request.resources[0].resource_type == 2
    return request


def names_in(struct: Any, message: str, version: int, prefix: str = "") -> list[tuple[str, Any]]:
    """Every value that has a meaning, with its path."""
    entities = entities_of(message, version)
    found = []
    for field in struct.FIELDS:
        held = getattr(struct, field.name)
        if version not in field.versions or held is None:
            continue
        path = prefix + field.kafka_name
        for one in held if field.is_array else [held]:
            if isinstance(one, Struct):
                found += names_in(one, message, version, path + ".")
            elif path in entities:
                found.append((path, one))
    return found


def started(stage: Stage, api_key: int, version: int) -> tuple[Playbook, Any]:
    """Send the filled request of acme; give what the broker got."""
    stage.topic_ids.learn(OWN_ID, b"__vt_acme_orders")
    stage.topic_ids.learn(FOREIGN_ID, b"__vt_globex_orders")
    book = stage.play("acme")
    book >> client_sends(request_of(api_key, version, prefix="", own_id=OWN_ID), version)
    assert len(book.said.to_broker) == 1, "one request, one request"
    asked, request, _ = read_request(book.said.to_broker.popleft())
    assert (asked.api_key, asked.api_version) == (api_key, version)
    return book, request


@pytest.mark.parametrize(("api_key", "version"), FORWARDED)
def test_every_name_in_a_request_is_physical_at_the_broker(
    stage: Stage, api_key: ApiKey, version: int
) -> None:
    _book, request = started(stage, api_key, version)

    name = request_schema(api_key).name
    expected = request_of(api_key, version, prefix="__vt_acme_", own_id=OWN_ID)
    assert [pair for pair in names_in(request, name, version) if pair[0] != "ClusterId"] == [
        pair for pair in names_in(expected, name, version) if pair[0] != "ClusterId"
    ]


@pytest.mark.parametrize(("api_key", "version"), FORWARDED)
def test_nothing_physical_is_in_an_answer(stage: Stage, api_key: ApiKey, version: int) -> None:
    book, _request = started(stage, api_key, version)
    schema = response_schema(api_key)
    answer = sample(
        schema.name, version, lambda entity, field: value(entity, field, prefix="__vt_acme_", own_id=OWN_ID)
    )
    correlation_id = book.next_correlation_id() - 1

    book.session.receive_from_broker(response_frame(answer, version, correlation_id))

    (frame,) = split_frames(b"".join(book.session.to_client))
    assert [secret for secret in SECRETS if secret in frame] == []
    names = [held for path, held in names_in(answer, schema.name, version) if held == "__vt_acme_orders"]
    is_without_type = schema.name == "ListConfigResourcesResponse" and version == 0  # and so no topic
    assert bool(names) <= (b"orders" in frame or is_without_type)


@pytest.mark.parametrize(("api_key", "version"), FORWARDED)
def test_nothing_of_another_tenant_is_in_an_answer(stage: Stage, api_key: ApiKey, version: int) -> None:
    book, _request = started(stage, api_key, version)
    schema = response_schema(api_key)
    answer = sample(
        schema.name,
        version,
        lambda entity, field: value(entity, field, prefix="__vt_globex_", own_id=FOREIGN_ID),
    )
    correlation_id = book.next_correlation_id() - 1

    with contextlib.suppress(AssertionError):  # "the broker answers what it was asked": the connection dies
        book.session.receive_from_broker(response_frame(answer, version, correlation_id))

    frames = split_frames(b"".join(book.session.to_client))
    for frame in frames:
        assert [one for one in [*SECRETS, FOREIGN_ID, b"globex"] if one in frame] == []


@pytest.mark.parametrize(
    ("api_key", "version"),
    [(key, version) for key in sorted(REFUSED) for version in served_versions(key) or ()],
)
def test_what_is_always_refused_never_reaches_the_broker(stage: Stage, api_key: ApiKey, version: int) -> None:
    def give(_entity: Entity, field: Field) -> Any:
        return neutral(field)

    book = stage.play("acme")

    book >> client_sends(sample(request_schema(api_key).name, version, give), version)

    assert not book.said.to_broker
    assert len(book.said.to_client) == 1
    assert book.said.ended is None

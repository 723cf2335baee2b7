"""Every message of every API and version that is served: nothing of one side shows through to the other.

The messages are filled by what their fields mean, so a new API or version is covered from the day it is classified.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from bifrost.config.policies.policy import Policy
from bifrost.session.close_reason import SessionEnded
from bifrost.session.session_lanes import OWN_APIS
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.topic_regex import confine
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.errors import WireError
from bifrost.wire.fields.entities import ANSWERED, REFUSED, SERVED, entities_of, served_versions
from bifrost.wire.message import Struct
from bifrost.wire.schema import Field, FieldType, request_schema, response_schema
from support.gateways.sample import sample
from support.physical_names import MARK, physical_name, prefix_of
from support.stage.messages import consumer_payload
from support.stage.playbook import (
    Playbook,
    client_sends,
    read_request,
    request_frame,
    response_frame,
    split_frames,
)
from support.stage.stage import PHYSICAL_CLUSTER_ID, TENANTS, Stage

MEMBER = "app-3f0c91d2-6c1a-{}b7e-9d53-0a8e5f3b2c11"
"""What a coordinator makes of the client ID `app`, with the version of its UUID left out."""
HOST, CLIENT_HOST, LOG_DIR = "kafka-1.internal", "/10.11.12.13", "/var/lib/kafka/data-0"
OWN_ID, FOREIGN_ID = b"an own topic ID.", b"a foreign one's."
SECRETS = [MARK.encode(), HOST.encode(), PHYSICAL_CLUSTER_ID.encode(), b"10.11.12.13", LOG_DIR.encode()]
"""What no client may ever see."""

FORWARDED = [key for key in SERVED if key not in OWN_APIS | ANSWERED]
ASSIGNS = ResourcePolicy(Policy(allow_replica_assignments=True))
by_api = pytest.mark.parametrize("api_key", FORWARDED, ids=lambda key: key.name)


@pytest.fixture
def stage() -> Stage:
    """One whose acme may do all that reaches the broker."""
    acme = replace(TENANTS["acme"], allow_topic_deletion=True, policy=ASSIGNS)
    return Stage({**TENANTS, "acme": acme})


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
    Entity.TOPIC_REGEX: lambda prefix: confine("orders.*", prefix, ["orders"]) if prefix else "orders.*",
    Entity.TRANSACTIONAL_ID_REGEX: lambda prefix: confine("a-.*", prefix) if prefix else "a-.*",
    Entity.SUBSCRIPTION: lambda prefix: payload("Subscription", f"{prefix}orders"),
    Entity.ASSIGNMENT: lambda prefix: payload("Assignment", f"{prefix}orders"),
}
_OF_MEMBERS: dict[Entity, tuple[str, str]] = {
    Entity.MEMBER_ID: (MEMBER.format(8), prefix_of("acme") + MEMBER.format(4)),
    Entity.CLIENT_ID: ("app", physical_name("acme", "app")),
}
"""What the client has and what the broker has; whichever tenant's the names are, for a broker tells of the group
that was asked for, and no other's is."""
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
    if entity in _OF_MEMBERS:
        return _OF_MEMBERS[entity][bool(prefix)]
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
    for resource in [*getattr(request, "resources", ()), *getattr(request, "topics", ())]:
        for config in getattr(resource, "configs", ()):
            config.name = "retention.ms"  # one that a tenant may set
    if name == "StreamsGroupHeartbeatRequest":
        for subtopology in request.topology.subtopologies:
            for topic in subtopology.state_changelog_topics + subtopology.repartition_source_topics:
                topic.replication_factor = 1
                for config in topic.topic_configs:
                    config.key = "retention.ms"
    if name == "MetadataRequest":
        for topic in request.topics:  # It names topics by names or by IDs, never by both.
            topic.topic_id = bytes(16)
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


def versions(api_key: ApiKey) -> Iterator[int]:
    yield from served_versions(api_key) or ()


def started(stage: Stage, api_key: int, version: int) -> tuple[Playbook, Any]:
    """Send the filled request of acme; give what the broker got."""
    stage.topic_ids.learn(OWN_ID, physical_name("acme", "orders").encode())
    stage.topic_ids.learn(FOREIGN_ID, physical_name("globex", "orders").encode())
    book = stage.play("acme")
    book >> client_sends(request_of(api_key, version, prefix="", own_id=OWN_ID), version)
    assert len(book.said.to_broker) == 1, f"v{version}: one request, one request"
    asked, request, _ = read_request(book.said.to_broker.popleft())
    assert (asked.api_key, asked.api_version) == (api_key, version)
    return book, request


def answered(stage: Stage, api_key: int, version: int, **options: Any) -> tuple[Any, list[bytes]]:
    """Let the broker answer acme's request with every field filled; give the answer and what acme got."""
    book, _request = started(stage, api_key, version)
    name = response_schema(api_key).name
    answer = sample(name, version, lambda entity, field: value(entity, field, **options))
    frame = response_frame(answer, version, book.next_correlation_id() - 1)
    with contextlib.suppress(AssertionError):  # "the broker answers what it was asked": the connection dies
        book.session.receive_from_broker(frame)
    return answer, split_frames(b"".join(book.session.to_client))


@by_api
def test_every_name_in_a_request_is_physical_at_the_broker(stage: Stage, api_key: ApiKey) -> None:
    for version in versions(api_key):
        _book, request = started(stage, api_key, version)

        name = request_schema(api_key).name
        expected = request_of(api_key, version, prefix=prefix_of("acme"), own_id=OWN_ID)
        assert [pair for pair in names_in(request, name, version) if pair[0] != "ClusterId"] == [
            pair for pair in names_in(expected, name, version) if pair[0] != "ClusterId"
        ], version


@by_api
def test_nothing_physical_is_in_an_answer(stage: Stage, api_key: ApiKey) -> None:
    for version in versions(api_key):
        answer, frames = answered(stage, api_key, version, prefix=prefix_of("acme"), own_id=OWN_ID)

        (frame,) = frames
        assert [secret for secret in SECRETS if secret in frame] == [], version
        name = answer.SCHEMA.name
        has_topics = physical_name("acme", "orders") in [
            held for _path, held in names_in(answer, name, version)
        ]
        is_without_type = name == "ListConfigResourcesResponse" and version == 0  # and so without topics
        assert has_topics <= (b"orders" in frame or is_without_type), version


@by_api
def test_nothing_of_another_tenant_is_in_an_answer(stage: Stage, api_key: ApiKey) -> None:
    for version in versions(api_key):
        _answer, frames = answered(stage, api_key, version, prefix=prefix_of("globex"), own_id=FOREIGN_ID)

        for frame in frames:
            assert [one for one in [*SECRETS, FOREIGN_ID, b"globex"] if one in frame] == [], version


@pytest.mark.parametrize("api_key", sorted(REFUSED), ids=lambda key: key.name)
def test_what_is_always_refused_never_reaches_the_broker(stage: Stage, api_key: ApiKey) -> None:
    for version in versions(api_key):
        book = stage.play("acme")

        book >> client_sends(
            sample(request_schema(api_key).name, version, lambda _entity, field: neutral(field)), version
        )

        assert (len(book.said.to_broker), len(book.said.to_client)) == (0, 1), version
        assert book.said.ended is None


HOSTILE = [
    "",
    "x" * 32_767,
    "x" * 32_760,
    "/",
    "..",
    physical_name("globex", "orders"),
    "ä",
    "\0",
    "(",
    r"\Q",
    "@not UTF8",
]
"""Strings that a client should not send; the last stands for bytes that are none."""


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_no_request_whatever_its_strings_is_an_error_of_ours(stage: Stage, text: str) -> None:
    def give(_entity: Entity, field: Field) -> Any:
        return {FieldType.STRING: text, FieldType.UUID: FOREIGN_ID}.get(field.type, text.encode())

    stage.topic_ids.learn(FOREIGN_ID, physical_name("globex", "orders").encode())
    for api_key in [*SERVED, *REFUSED]:
        for version in versions(api_key):
            request = sample(request_schema(api_key).name, version, give)
            frame = request_frame(request, version, 3).replace(b"@not UTF8", b"\xff\xfe\xc0\x80utf8!")
            session = stage.play("acme").session

            # Whatever else is raised has no answer but the end of the connection with a trace.
            with contextlib.suppress(SessionEnded, WireError):
                session.receive_from_client(frame)

            for sent in split_frames(b"".join(session.to_broker)):
                assert_confined(sent.replace(b"\xff\xfe\xc0\x80", b"????"))


def assert_confined(frame: bytes) -> None:
    """Every name that reached the broker is under acme's prefix; the empty transactional ID is of no tenant."""
    asked, request, _client_id = read_request(frame)
    entities = entities_of(request.SCHEMA.name, asked.api_version)
    for path, name in names_in(request, request.SCHEMA.name, asked.api_version):
        if entities[path] in _VIRTUAL and isinstance(name, str) and name:
            assert name.startswith(prefix_of("acme")), path
        if entities[path] is Entity.TOPIC_ID:
            assert name != FOREIGN_ID, path

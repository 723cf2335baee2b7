"""The meaning of every string, bytes and uuid field of every served message.

This is the one table that isolation rests on. Kafka's own definitions mark some fields with an `entityType`
(topicName, groupId, transactionalId); most they do not mark (FindCoordinator keys, resource names, hosts, error texts,
consumer-protocol payloads), and those stand here. A field that is in neither is *unclassified*, and an API with an
unclassified field is not served: it is not offered in ApiVersions and a request for it is refused. So a new Kafka
release can only ever add things that do not work yet, never things that leak.

Source: Kafka's message definitions (`common/message/*.json`), read field by field for 3.9.1 and 4.3.1.
"""

from collections.abc import Iterator
from functools import cache

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields.classification import CLASSIFICATION
from bifrost.wire.program import SLOT_ADDRESS, SLOT_DECODE
from bifrost.wire.schema import (
    Field,
    FieldType,
    MessageSchema,
    VersionRange,
    message_schema,
    request_schema,
    response_schema,
)

_KAFKA_ENTITY_TYPES = {
    "topicName": Entity.TOPIC_NAME,
    "groupId": Entity.GROUP_ID,
    "transactionalId": Entity.TRANSACTIONAL_ID,
}
_CLASSIFIED_TYPES = frozenset({FieldType.STRING, FieldType.BYTES, FieldType.UUID, FieldType.RECORDS})

SERVED: dict[ApiKey, int | None] = {
    ApiKey.PRODUCE: None,
    ApiKey.FETCH: None,
    ApiKey.LIST_OFFSETS: None,
    ApiKey.METADATA: None,
    ApiKey.OFFSET_COMMIT: None,
    ApiKey.OFFSET_FETCH: None,
    ApiKey.FIND_COORDINATOR: None,
    ApiKey.JOIN_GROUP: None,
    ApiKey.HEARTBEAT: None,
    ApiKey.LEAVE_GROUP: None,
    ApiKey.SYNC_GROUP: None,
    ApiKey.DESCRIBE_GROUPS: None,
    ApiKey.LIST_GROUPS: None,
    ApiKey.SASL_HANDSHAKE: None,
    ApiKey.API_VERSIONS: None,
    ApiKey.CREATE_TOPICS: None,
    ApiKey.DELETE_TOPICS: None,
    ApiKey.DELETE_RECORDS: None,
    ApiKey.INIT_PRODUCER_ID: None,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: None,
    # From v4 on only brokers send it (KIP-890: batched verification, needs CLUSTER_ACTION); clients stop at v3.
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.ADD_OFFSETS_TO_TXN: None,
    ApiKey.END_TXN: None,
    ApiKey.TXN_OFFSET_COMMIT: None,
    ApiKey.DESCRIBE_CONFIGS: None,
    ApiKey.SASL_AUTHENTICATE: None,
    ApiKey.CREATE_PARTITIONS: None,
    ApiKey.DELETE_GROUPS: None,
    ApiKey.OFFSET_DELETE: None,
    ApiKey.DESCRIBE_CLUSTER: None,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: None,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: None,
    ApiKey.CONSUMER_GROUP_DESCRIBE: None,
    ApiKey.SHARE_GROUP_HEARTBEAT: None,
    ApiKey.SHARE_GROUP_DESCRIBE: None,
    ApiKey.SHARE_FETCH: None,
    ApiKey.SHARE_ACKNOWLEDGE: None,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: None,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: None,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: None,
    ApiKey.STREAMS_GROUP_HEARTBEAT: None,
    ApiKey.STREAMS_GROUP_DESCRIBE: None,
    ApiKey.LIST_TRANSACTIONS: None,
    ApiKey.DESCRIBE_TRANSACTIONS: None,
    ApiKey.DESCRIBE_PRODUCERS: None,
    ApiKey.ALTER_CONFIGS: None,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: None,
    ApiKey.LIST_CONFIG_RESOURCES: None,
    ApiKey.DESCRIBE_LOG_DIRS: None,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: None,
    ApiKey.ALTER_CLIENT_QUOTAS: None,
}
"""The APIs offered to clients, each with the newest version offered, or None for the newest the table knows."""

ANSWERED = frozenset({ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS})
"""Those of them whose filters answer every request: no broker gets one."""

REFUSED: frozenset[ApiKey] = frozenset(
    {
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
    }
)
"""The APIs that are offered to clients and always refused by the gateway itself; see filters/refused.py."""


SLOT_CLUSTER_ID = 9
"""The engine's slot of a cluster ID that a broker tells."""

SLOT_NEW_TOPIC = 9
"""The engine's slot of a topic's name in a request by which a broker may create it (in requests; the same number)."""

SLOT_FETCHED_TOPIC = 11
"""The engine's slot of a topic's name in a Fetch. A broker keeps metrics of every name that it is asked for, some 4 KB
each, and never forgets those that are no topic's (BrokerTopicStats.updateBytesOut, KAFKA-5238)."""

_REQUEST_SLOTS = {
    ("MetadataRequest", "Topics.Name"): SLOT_NEW_TOPIC,
    ("FetchRequest", "Topics.Topic"): SLOT_FETCHED_TOPIC,
}

_RESPONSE_SLOTS = {Entity.BROKER_HOST: SLOT_ADDRESS, Entity.CLUSTER_ID: SLOT_CLUSTER_ID}
"""Fields that the engine replaces only in answers: a listener's clients have addresses of their own
(answer_names.py)."""


def walk_fields(fields: tuple[Field, ...], version: int, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield (dotted path, field) of every field that exists at `version`, outer before inner."""
    for field in fields:
        if version in field.versions:
            path = prefix + field.kafka_name
            yield path, field
            yield from walk_fields(field.fields, version, path + ".")


@cache
def entities_of(message: str, version: int) -> dict[str, Entity]:
    """Return the meaning of every entity field of one version of a message, by dotted path; neutral ones left out.

    Raises:
        UnclassifiedField: the message has a string, bytes or uuid field without a meaning in the table.
    """
    if message not in CLASSIFICATION:
        raise UnclassifiedField(
            f"{message} has no entry in wire/fields/classification.py, not even an empty one"
        )
    schema, declared = message_schema(message), CLASSIFICATION[message]
    found: dict[str, Entity] = {}
    for path, field in walk_fields(schema.fields, version):
        entity = declared.get(path)
        if entity is None and field.type in _CLASSIFIED_TYPES:
            entity = _KAFKA_ENTITY_TYPES.get(field.entity_type or "")
            if entity is None:
                raise UnclassifiedField(
                    f"{message} v{version}: {path} has no meaning in wire/fields/classification.py"
                )
        if entity:
            found[path] = entity
    return found


def engine_slots(message: str, version: int) -> dict[str, int]:
    """Return the engine slot of every entity field: its own for those replaced in place, else SLOT_DECODE."""
    slots = _RESPONSE_SLOTS if message.endswith("Response") else {}
    return {
        path: _REQUEST_SLOTS.get((message, path), int(entity))
        if entity.is_in_place
        else slots.get(entity, SLOT_DECODE)
        for path, entity in entities_of(message, version).items()
    }


@cache
def served_versions(api_key: int) -> VersionRange | None:
    """Return the versions of an API that are wholly classified and may be offered, or None when it is not served.

    The newest version the schema marks unstable is included: brokers offer it only when told to.
    """
    if api_key in REFUSED:
        return request_schema(api_key).versions
    if api_key not in SERVED:
        return None
    request, response = request_schema(api_key), response_schema(api_key)
    newest = SERVED[ApiKey(api_key)]
    high = request.versions.high if newest is None else min(newest, request.versions.high)
    for version in range(request.versions.low, high + 1):
        for schema in (request, response):
            try:
                entities_of(schema.name, version)
            except UnclassifiedField:
                if version == request.versions.low:
                    return None
                return VersionRange(request.versions.low, version - 1)
    return VersionRange(request.versions.low, high)


def unclassified_fields(schema: MessageSchema) -> list[str]:
    """Return a line for every version of a message that has an unclassified field. For the tests."""
    lines = []
    for version in range(schema.versions.low, schema.versions.high + 1):
        try:
            entities_of(schema.name, version)
        except UnclassifiedField as error:
            lines.append(str(error))
    return lines


class UnclassifiedField(LookupError):
    """A field of a message was given no meaning; the message is not served."""

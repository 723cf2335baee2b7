"""Derives from the schemas where the responses of an API carry an error; filters/error_response.py fills it in.

An error code of the response itself is enough: its lists stay empty. A response without one has an item for each item
of the request, with the item's keys (name, ID, index) and an error code of the item's own. The tables list where Kafka
differs.

Source: `getErrorResponse` of Kafka's request classes (org.apache.kafka.common.requests); tests/golden compares the
result with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Struct, message_class
from bifrost.wire.schema import MAX_VERSION, Field, FieldType, has_throttle, request_schema, response_schema

_ERROR_CODES = frozenset({"error_code", "partition_error_code"})
_KEYS = frozenset(
    {
        "entity_name",
        "entity_type",
        "group_id",
        "index",
        "key",
        "name",
        "partition",
        "partition_id",
        "partition_index",
        "resource_name",
        "resource_type",
        "topic",
        "topic_id",
        "topic_name",
        "transactional_id",
    }
)
"""Fields by which a client identifies an item. Others have the same name in both directions, but another meaning:
the leader epoch of OffsetForLeaderEpoch, the log start offset of Fetch."""
_KEY_LISTS = frozenset({"entity"})
"""Lists that are keys: the parts of a quota's entity."""
_OTHER_NAMES: Mapping[str, str] = {"partition_index": "partition"}
"""The names in a request of keys that have another name in its response: Fetch."""
_ITEMS_TOO: Mapping[int, int] = {
    ApiKey.FETCH: 12,
    ApiKey.METADATA: MAX_VERSION,
    ApiKey.ELECT_LEADERS: MAX_VERSION,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: MAX_VERSION,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: MAX_VERSION,
}
"""APIs whose items carry the error although the response itself can, with the last version in which they do."""
_WITHOUT_ITEMS = frozenset({"DescribeLogDirsResponse"})
"""Responses whose items are not those that the request named."""
_VALUES: Mapping[str, Mapping[str, Any]] = {
    "ProduceResponse.PartitionProduceResponse": {"base_offset": -1},
    "FetchResponse.PartitionData": {"high_watermark": -1, "records": b""},
    "OffsetFetchResponse.OffsetFetchResponsePartition": {"committed_offset": -1},
    "FindCoordinatorResponse": {"node_id": -1, "port": -1},
    "FindCoordinatorResponse.Coordinator": {"node_id": -1, "port": -1},
    "JoinGroupResponse": {"protocol_name": None},
    "InitProducerIdResponse": {"producer_epoch": -1},
    "DeleteRecordsResponse.DeleteRecordsPartitionResult": {"low_watermark": -1},
    "DescribeClientQuotasResponse": {"entries": None},
    "CreateDelegationTokenResponse": {
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
}
"""Values beside an error that are not the field's default; null only where the version allows it."""


@dataclass(frozen=True, slots=True)
class Key:
    """A field of the response that is copied from the request."""

    attribute: str
    source: str | None
    """The field of the request's item; None: the item itself is the key."""
    is_nullable: bool


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list of the response, and the list of the request that it answers."""

    attribute: str
    source: str
    place: "ErrorPlace"
    """Each of its items."""


@dataclass(frozen=True, slots=True)
class ErrorPlace:
    """How to fill in a struct of the response, or the response itself."""

    make: type[Struct]
    values: Mapping[str, Any]
    """The values that differ from the default."""
    error: str | None
    """The field that takes the error code."""
    has_message: bool
    """Whether the struct has a field for an error message."""
    has_throttle: bool
    keys: tuple[Key, ...]
    lists: tuple[ItemList, ...]


@cache
def error_place(api_key: int, api_version: int, *, is_of_items: bool = False) -> ErrorPlace:
    """Return how to fill in the response to a request; only items of its lists are copied from the request.

    With `is_of_items` its items get errors also where the response itself can carry one.

    Raises:
        KeyError: brokers serve no such API.
    """
    name = response_schema(api_key).name
    with_items = is_of_items or api_version <= _ITEMS_TOO.get(api_key, -1)
    compiler = _Compiler(name, api_version)
    return compiler.place(
        name, response_schema(api_key).fields, request_schema(api_key).fields, (), with_items
    )


class _Compiler:
    """Works out the places of one response at one version."""

    def __init__(self, message: str, version: int) -> None:
        self._message = message
        self._version = version

    def place(
        self,
        name: str,
        fields: tuple[Field, ...],
        asked: tuple[Field, ...],
        keys: tuple[Key, ...],
        with_items: bool,
    ) -> ErrorPlace:
        """Compile one struct.

        Args:
            name: the name of the message, or of the message and the struct.
            fields: of the struct.
            asked: fields of the request's struct that it answers.
            keys: how its keys are copied.
            with_items: whether its lists are filled even if it can carry the error itself.
        """
        fields, asked = self._present(fields), self._present(asked)
        error = next((field.name for field in fields if field.name in _ERROR_CODES), None)
        lists = []
        for field in fields:
            is_wanted = (with_items or error is None) and self._carries_error(field)
            source = _source_of(field, asked) if is_wanted or field.name in _KEY_LISTS else None
            if source is not None:
                lists.append(ItemList(field.name, source.name, self._item(field, source)))
        make: Any = message_class(self._message)
        return ErrorPlace(
            make=make if name == self._message else getattr(make, name.rpartition(".")[2]),
            values=self._values(name, fields),
            error=error,
            has_message=any(field.name == "error_message" for field in fields),
            has_throttle=has_throttle(fields, self._version),
            keys=keys,
            lists=tuple(lists),
        )

    def _item(self, field: Field, source: Field) -> ErrorPlace:
        """Compile the items of the list `field` that answer those of `source`."""
        keys = []
        asked = {one.name: one for one in self._present(source.fields)}
        for one in self._present(field.fields):
            # A null name of Metadata is answered by an empty one: Java's client throws at null beside an ID.
            is_nullable = self._version in one.nullable and self._message != "MetadataResponse"
            name = one.name if one.name in asked else _OTHER_NAMES.get(one.name, "")
            if one.name not in _KEYS:
                continue
            if source.type is not FieldType.STRUCT and one.type is source.type:
                keys.append(Key(one.name, None, is_nullable))
            elif name in asked and one.type is asked[name].type:
                keys.append(Key(one.name, name, is_nullable))
        name = f"{self._message}.{field.struct_name}"
        return self.place(name, field.fields, source.fields, tuple(keys), with_items=False)

    def _values(self, name: str, fields: tuple[Field, ...]) -> Mapping[str, Any]:
        wanted = _VALUES.get(name, {})
        return {
            field.name: wanted[field.name]
            for field in fields
            if field.name in wanted and (wanted[field.name] is not None or self._version in field.nullable)
        }

    def _carries_error(self, field: Field) -> bool:
        """Say whether the field is a list whose items have an error code, or lists of such."""
        inner = self._present(field.fields)
        is_list = field.type is FieldType.STRUCT and field.is_array and self._message not in _WITHOUT_ITEMS
        return is_list and any(one.name in _ERROR_CODES or self._carries_error(one) for one in inner)

    def _present(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(field for field in fields if self._version in field.versions)


def _source_of(field: Field, asked: tuple[Field, ...]) -> Field | None:
    """Return the list that `field` answers: the one of its name, else the first, for what is asked comes first."""
    lists = [one for one in asked if one.is_array]
    return next((one for one in lists if one.name == field.name), lists[0] if lists else None)

"""Makes the rows of kind `usage` from counters."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from bifrost.journal.identity import Identity
from bifrost.journal.record import said
from bifrost.journal.topic_names import AccessKey, TopicKey
from bifrost.journal.usage import TopicUsage
from bifrost.journal.usage_table import Client
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.schema import request_schema

CODECS = ("none", "gzip", "snappy", "lz4", "zstd", "unknown")
"""Names of codecs, by the number in a batch's attributes (CompressionType)."""

SCOPES = {Entity.GROUP_ID: "group", Entity.TRANSACTIONAL_ID: "transactional_id"}
"""Scopes of rows about what is neither a topic nor everything."""

Row = dict[str, Any]


def connection_row(client: Client) -> Row | None:
    """Return the row of a client's connections and reset their counters; None when there is nothing to tell."""
    opened, closed, is_open, connection_ms = client.take_connections()
    if not (opened or closed or is_open or connection_ms):
        return None
    return {
        "scope": "connection",
        **_who(client.identity),
        "connections_opened": opened,
        "connections_closed": closed,
        "connections": is_open,
        "connection_ms": connection_ms,
    }


def usage_rows(client: Client, api_key: int, api_version: int) -> tuple[Iterator[Row], int]:
    """Return the rows of a client's messages of one API and version, and the number of entities; reset the counters.

    The rows are made lazily, one by one: there may be ten thousand.
    """
    taken = client.usages[api_key, api_version].take()
    if taken is None:
        return iter(()), 0
    (
        requests, responses, errors, bytes_in, bytes_out, throttle_time_ms, broker_time_us, gateway_time_us, times,
        empty_fetches, error_codes, topics,
    ) = taken  # fmt: skip
    who = _who(client.identity) | {
        "api": api_name(api_key),
        "api_key": api_key,
        "api_version": api_version,
    }
    row = {
        "scope": "request",
        **who,
        "requests": requests,
        "responses": responses,
        "errors": errors,
        "error_codes": {error_name(code): count for code, count in error_codes.items()},
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "throttle_time_ms": throttle_time_ms,
        "broker_time_us": broker_time_us,
        "gateway_time_us": gateway_time_us,
        "gateway_times": times if any(times) else (),
        "empty_fetches": empty_fetches,
    }
    # A large request that was received in two intervals has its bytes in the second one.
    rows = [row] if requests or responses or bytes_in else []
    return chain(rows, _entity_rows(who, topics)), len(topics)


def client_fields(identity: Identity) -> Row:
    """Return the fields of a client that rows and events share."""
    client_id = identity.client_id
    return {
        "upstream": identity.upstream,
        "namespace": identity.namespace,
        "principal": identity.principal,
        "client_id": None if client_id is None else client_id.decode("utf-8", "replace"),
    }


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API; the schema must contain it."""
    return request_schema(api_key).name.removesuffix("Request")


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, or the number of a code without a name."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def _who(identity: Identity) -> Row:
    return client_fields(identity) | {
        "client_software_name": identity.software.name,
        "client_software_version": identity.software.version,
        "is_folded": identity.is_folded,
    }


def _entity_rows(who: Row, counted: Mapping[TopicKey | AccessKey, TopicUsage]) -> Iterator[Row]:
    for key, usage in counted.items():
        yield _access_row(who, key, usage) if isinstance(key, AccessKey) else _topic_row(who, key, usage)


def _access_row(who: Row, key: AccessKey, usage: TopicUsage) -> Row:
    return {
        "scope": SCOPES[key.entity],
        **who,
        "is_folded": who["is_folded"] or key == AccessKey(key.entity),
        "resource_name": key.virtual,
        "physical_name": key.physical,
        "requests": usage.take()[0],
    }


def _topic_row(who: Row, key: TopicKey, usage: TopicUsage) -> Row:
    requests, errors, bytes_in, bytes_out, control_batches, cells = usage.take()
    produced = [one for one in cells if one[0] is not None]
    fetched = [one for one in cells if one[0] is None]
    return {
        "scope": "topic",
        **who,
        "is_folded": who["is_folded"] or key == TopicKey(),
        "topic": key.virtual,
        "physical_topic": key.physical,
        "topic_id": key.topic_id,
        "requests": requests,
        "errors": errors,
        "batches_in": sum(one[2] for one in produced),
        "records_in": sum(one[3] for one in produced),
        "bytes_in": bytes_in,
        "batches_out": sum(one[2] for one in fetched),
        "records_out": sum(one[3] for one in fetched),
        "bytes_out": bytes_out,
        "control_batches": control_batches,
        "batches": [_cell(*one) for one in cells],
    }


def _cell(
    acks: int | None,
    codec: int,
    batches: int,
    records: int,
    size: int,
    idempotent: int,
    transactional: int,
    old: int,
) -> Row:
    cell = {
        "codec": CODECS[codec],
        "acks": acks,
        "batches": batches,
        "records": records,
        "bytes": size,
        "idempotent_batches": idempotent,
        "transactional_batches": transactional,
        "old_format_batches": old,
    }
    return said(cell, frozenset({"acks"}))

"""What is not served is refused: clearly where the protocol has a place for it, else by closing, as a broker does."""

from __future__ import annotations

import os

import pytest

from bifrost.filters.refused import REFUSED
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import EncodeError
from bifrost.wire.fields.entities import SERVED, served_versions
from bifrost.wire.message import message_class
from bifrost.wire.messages import (
    AlterPartitionReassignmentsRequest,
    ApiVersionsRequest,
    CreateAclsRequest,
    DescribeAclsRequest,
    MetadataRequest,
    WriteTxnMarkersRequest,
)
from bifrost.wire.schema import request_schema
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, decode_response, request_frame
from support.gateways.gateway_fixtures import Connect
from support.gateways.gateway_process import GatewayProcess


def _known_keys() -> list[ApiKey]:
    """All API keys that the schemas have, for a broker serves them."""
    known = []
    for api_key in ApiKey:
        try:
            request_schema(api_key)
        except KeyError:
            continue
        known.append(api_key)
    return known


NOT_SERVED = [api_key for api_key in _known_keys() if api_key not in SERVED and api_key not in REFUSED]
HIGHEST_KEY = max(ApiKey) + 1


def _outcome(client: RawClient, frame: bytes, api_key: int, version: int) -> ErrorCode | None:
    """Send a frame; return the error code on top of the answer, None when the connection is closed."""
    client.send_bytes(frame)
    try:
        response = decode_response(api_key, version, client.receive_frame())
    except EOFError:
        return None
    return ErrorCode(response.error_code)


def test_some_apis_are_not_served() -> None:
    assert {ApiKey.WRITE_TXN_MARKERS, ApiKey.DESCRIBE_QUORUM, ApiKey.UPDATE_FEATURES} <= set(NOT_SERVED)


@pytest.mark.parametrize("api_key", NOT_SERVED, ids=[api_key.name for api_key in NOT_SERVED])
def test_api_that_is_not_served_is_not_offered_and_refused(api_key: ApiKey, connect: Connect) -> None:
    schema = request_schema(api_key)
    assert api_key not in connect("acme").versions()

    for version in schema.versions:
        client = connect("acme")
        try:
            frame = request_frame(message_class(schema.name)(), version, 77)
        except EncodeError:  # Its defaults are not a request.
            frame = headers.REQUEST_PREFIX.pack(api_key, version, 77, 0) + bytes(64)
            frame = len(frame).to_bytes(4, "big") + frame
        assert _outcome(client, frame, api_key, version) in (None, ErrorCode.UNSUPPORTED_VERSION)


def test_transaction_markers_are_not_written(connect: Connect) -> None:
    """Only brokers write them: one would end another tenant's transaction."""
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=0,
        producer_epoch=0,
        transaction_result=True,
        topics=[WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="orders", partition_indexes=[0])],
    )
    client = connect("acme")

    client.send(WriteTxnMarkersRequest(markers=[marker]), 1)

    assert client.receives_end()


@pytest.mark.parametrize("api_key", sorted(REFUSED), ids=[api_key.name for api_key in sorted(REFUSED)])
def test_cluster_operation_is_offered_and_answered_no(api_key: ApiKey, connect: Connect) -> None:
    client = connect("acme")
    if api_key not in client.versions():
        # The broker has no such API either.
        return
    low, high = client.versions()[api_key]
    for version in range(low, high + 1):
        answer = client.request(message_class(request_schema(api_key).name)(), version)

        if hasattr(answer, "error_code"):
            assert answer.error_code in (
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                ErrorCode.SECURITY_DISABLED,
                ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED,
            ) or (api_key, version) == (ApiKey.ELECT_LEADERS, 0)


def test_every_item_of_a_refused_request_is_refused(connect: Connect) -> None:
    acme = connect("acme")
    creation = CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="*", principal="User:acme", host="*", operation=2, permission_type=3
    )

    created = acme.request(CreateAclsRequest(creations=[creation, creation]), 3)
    described = acme.request(
        DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1), 3
    )
    moved = acme.request(
        AlterPartitionReassignmentsRequest(
            topics=[
                AlterPartitionReassignmentsRequest.ReassignableTopic(
                    name="orders",
                    partitions=[
                        AlterPartitionReassignmentsRequest.ReassignablePartition(
                            partition_index=0, replicas=[1]
                        )
                    ],
                )
            ]
        ),
        0,
    )

    assert [one.error_code for one in created.results] == [ErrorCode.SECURITY_DISABLED] * 2
    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    assert moved.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("api_key", [HIGHEST_KEY, 999, 32767, -1, -32768])
def test_unknown_api_key_closes_with_a_log_line(
    api_key: int, acme: Endpoint, gateway: GatewayProcess
) -> None:
    with RawClient.authenticated(acme) as client:
        since = gateway.mark()
        frame = headers.REQUEST_PREFIX.pack(api_key, 0, 1, 0)

        client.send_bytes(len(frame).to_bytes(4, "big") + frame)

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "unsupported"
    assert str(api_key) in ended["detail"]


@pytest.mark.parametrize("is_authenticated", [True, False])
@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_unknown_version_of_api_versions_is_answered_in_v0_with_the_list(
    version: int, is_authenticated: bool, acme: Endpoint
) -> None:
    """KIP-511: so a newer client learns what it may use."""
    with RawClient.authenticated(acme) if is_authenticated else RawClient(acme) as client:
        frame = headers.REQUEST_PREFIX.pack(ApiKey.API_VERSIONS, version, 7, 0) + os.urandom(40)
        client.send_bytes(len(frame).to_bytes(4, "big") + frame)

        answer = decode_response(ApiKey.API_VERSIONS, 0, client.receive_frame())
        again = client.request(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)

    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert again.error_code == ErrorCode.NONE
    offered = [(api.api_key, api.min_version, api.max_version) for api in answer.api_keys]
    assert offered == [(api.api_key, api.min_version, api.max_version) for api in again.api_keys]
    assert {ApiKey.API_VERSIONS, ApiKey.PRODUCE} <= {key for key, _low, _high in offered}


@pytest.mark.parametrize("api_key", sorted(SERVED), ids=[api_key.name for api_key in sorted(SERVED)])
def test_version_beyond_those_offered_is_refused(api_key: ApiKey, connect: Connect) -> None:
    if api_key == ApiKey.API_VERSIONS:
        return  # See above: it is never refused.
    served = served_versions(api_key)
    assert served is not None
    for version in (served.high + 1, 300):
        client = connect("acme")
        frame = headers.REQUEST_PREFIX.pack(api_key, version, 1, 0) + bytes(64)
        known = version if version in request_schema(api_key).versions else 0
        outcome = _outcome(client, len(frame).to_bytes(4, "big") + frame, api_key, known)
        assert outcome in (None, ErrorCode.UNSUPPORTED_VERSION)


def test_sasl_after_authentication_is_an_error_and_changes_nothing(connect: Connect) -> None:
    acme = connect("acme")
    before = acme.request(MetadataRequest(topics=[]), 9).cluster_id
    handshake = acme.exchange(message_class("SaslHandshakeRequest")(mechanism="PLAIN"), 1)
    token = message_class("SaslAuthenticateRequest")(auth_bytes=b"\0globex\0globex-pw")

    answer = acme.request(token, 2)

    assert int.from_bytes(handshake[:2], "big") == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert acme.request(MetadataRequest(topics=[]), 9).cluster_id == before

"""What a tenant may administer itself: its ACLs, its quotas, its users. And the admin API, without a token."""

import contextlib
import os
from collections.abc import Iterator

from bench.hostile.attack import Evidence, attack
from bench.hostile.features import USER_PREFIX
from bench.hostile.field import Field
from bifrost.wire.messages import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeUserScramCredentialsRequest,
)

ANY, TOPIC, LITERAL, READ, ALLOW = 1, 2, 3, 3, 3
"""Kafka's numbers in requests about ACLs; the first one stands for any of each."""
MIB = 1 << 20


def _acl(name: str) -> CreateAclsRequest.AclCreation:
    return CreateAclsRequest.AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=LITERAL,
        principal="User:bob",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )


def _acls_of(user: str) -> DeleteAclsRequest.DeleteAclsFilter:
    """Return the filter that all ACLs of a user match."""
    return DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=f"User:{user}",
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )


@attack(
    "ACLs deleted by 100,000 filters in a MiB, which leave all open, where there are 900", has_features=True
)
def acl_filters(field: Field) -> Iterator[None]:
    client = field.client()
    with contextlib.closing(client):
        creations = [_acl(f"topic-{number}") for number in range(900)]
        client.request(CreateAclsRequest(creations=creations), 3)
    # By another name than any has: they are compared, and stay.
    one = _acls_of("x")
    frame = field.frame(DeleteAclsRequest(filters=[one] * (field.size(MIB) // 16)), 3)
    yield
    field.flood([frame], connections=2)


@attack("DeleteAcls that asks for all ACLs again and again in one request, to tell them", has_features=True)
def acl_matches(field: Field) -> Iterator[None]:
    client = field.client()
    with contextlib.closing(client):
        creations = [_acl(f"topic-{number}") for number in range(900)]
        client.request(CreateAclsRequest(creations=creations), 3)
    # The configuration's own match, and cannot be deleted.
    one = _acls_of(field.target.user)
    frame = field.frame(DeleteAclsRequest(filters=[one] * (field.size(MIB) // 24)), 3)
    yield
    field.flood([frame], connections=2)


@attack("ACLs created by requests of a MiB, other ones each time", has_features=True)
def acl_creations(field: Field) -> Iterator[None]:
    count = field.size(MIB) // 40
    frames = [
        field.frame(CreateAclsRequest(creations=[_acl(f"a{turn}-{number}") for number in range(count)]), 3)
        for turn in range(4)
    ]
    yield
    field.flood(frames, connections=2)


@attack("quotas for tens of thousands of users in a request of a MiB", has_features=True)
def quota_alterations(field: Field) -> Iterator[None]:
    new = AlterClientQuotasRequest
    op = new.OpData(key="producer_byte_rate", value=1e9, remove=False)
    entries = [
        new.EntryData(entity=[new.EntityData(entity_type="user", entity_name=f"u{number}")], ops=[op])
        for number in range(field.size(MIB) // 48)
    ]
    frame = field.frame(new(entries=entries), 1)
    yield
    field.flood([frame], connections=2)


@attack("quotas of one entity with tens of thousands of parts, or of keys", has_features=True)
def quota_parts(field: Field) -> Iterator[None]:
    new, count = AlterClientQuotasRequest, field.size(MIB) // 12
    parts = [new.EntityData(entity_type=f"kind{number}", entity_name=None) for number in range(count)]
    ops = [new.OpData(key=f"key{number}", value=0.0, remove=True) for number in range(count // 2)]
    own = [new.EntityData(entity_type="user", entity_name="alice")]
    frames = [
        field.frame(new(entries=[new.EntryData(entity=parts, ops=[])]), 1),
        field.frame(new(entries=[new.EntryData(entity=own, ops=ops)]), 1),
    ]
    yield
    field.flood(frames, connections=2)


@attack("users made by requests of a MiB, and described by as many names", has_features=True)
def user_alterations(field: Field) -> Iterator[None]:
    new, asked = AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
    upsertions = [
        new.ScramCredentialUpsertion(
            name=f"{USER_PREFIX}{number}",
            mechanism=1,
            iterations=4096,
            salt=os.urandom(16),
            salted_password=os.urandom(32),
        )
        for number in range(field.size(MIB) // 96)
    ]
    names = [asked.UserName(name=f"{USER_PREFIX}{number}") for number in range(field.size(MIB) // 32)]
    frames = [field.frame(new(deletions=[], upsertions=upsertions), 0), field.frame(asked(users=names), 0)]
    yield
    field.flood(frames, connections=2)


def _ask_http(field: Field, request: bytes) -> None:
    """Send a request to the admin API again and again, on connections that it may close."""
    while field.goes_on():
        try:
            connection = field.raw(port=field.target.control_port, timeout_s=5)
            with contextlib.closing(connection):
                while field.goes_on():
                    connection.sendall(request)
                    field.count(len(request))
                    field.sent.frames += 1
                    if not connection.recv(65_536):
                        break
                    field.sent.answers += 1
        except OSError:
            field.sent.closed += 1


@attack(
    "the admin API, with a token that it does not know, as fast as it answers",
    evidence=Evidence.ANSWERS,
    has_features=True,
)
def admin_api_guesses(field: Field) -> Iterator[None]:
    request = (
        b"DELETE /v1/namespaces/victim?recursive=true HTTP/1.1\r\nHost: x\r\n"
        b"Authorization: Bearer " + b"0" * 4_000 + b"\r\nContent-Length: 0\r\n\r\n"
    )
    yield
    _ask_http(field, request)


@attack(
    "the admin API, with a body of a GiB that is announced and 1 MiB that comes",
    evidence=Evidence.ANSWERS,
    has_features=True,
)
def admin_api_bodies(field: Field) -> Iterator[None]:
    request = b"POST /v1/acls HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n" + bytes(MIB)
    yield
    _ask_http(field, request)

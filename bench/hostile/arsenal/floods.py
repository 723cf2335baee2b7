"""Many small requests, as fast as they go."""

import itertools
import os
import struct
from collections.abc import Iterator

from bench.frames import CLIENT_ID, fetch
from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import (
    ApiVersionsRequest,
    DescribeAclsRequest,
    HeartbeatRequest,
    ListGroupsRequest,
    MetadataRequest,
)


@attack("ApiVersions, 50 in flight on each of 8 connections; the gateway answers them itself")
def api_versions_flood(field: Field) -> Iterator[None]:
    frame = field.frame(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    yield
    field.flood([frame], connections=8, depth=50)


@attack("the same before authentication")
def api_versions_before_login(field: Field) -> Iterator[None]:
    frame = field.frame(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    yield
    field.flood([frame], connections=8, depth=50, login=False)


@attack("requests that are refused, 50 in flight on each of 8 connections")
def refused_flood(field: Field) -> Iterator[None]:
    acls = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
    frame = field.frame(acls, 3)
    yield
    field.flood([frame], connections=8, depth=50)


@attack("heartbeats of no group, 50 in flight on each of 8 connections", is_warmed=True)
def small_requests(field: Field) -> Iterator[None]:
    frame = field.frame(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4)
    yield
    field.flood([frame], connections=8, depth=50)


@attack("the same over TLS", is_warmed=True)
def small_requests_tls(field: Field) -> Iterator[None]:
    frame = field.frame(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4)
    yield
    field.flood([frame], connections=8, depth=50, tls=True)


@attack("the same as a whole MiB of them at a time: one receive brings 30,000", is_warmed=True)
def small_requests_in_bulk(field: Field) -> Iterator[None]:
    frame = field.frame(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4)
    bulk = frame * (field.size(1 << 20) // len(frame))
    yield
    field.flood([bulk], connections=4, depth=len(bulk) // len(frame))


@attack("Metadata of all topics and ListGroups, 10 in flight on each of 8 connections", is_warmed=True)
def list_everything(field: Field) -> Iterator[None]:
    frames = [
        field.frame(MetadataRequest(topics=None), 12),
        field.frame(ListGroupsRequest(), 4),
    ]
    yield
    field.flood(frames, connections=8, depth=10)


@attack("empty fetches that return at once, 20 in flight on each of 8 connections", is_warmed=True)
def fetch_storm(field: Field) -> Iterator[None]:
    request = fetch(field.target.topic, b"", 12, [(0, 0)], max_wait_ms=0)
    frame = field.frame(request, 12)
    yield
    field.flood([frame], connections=8, depth=20)


@attack("300 connections with a long poll each")
def long_polls(field: Field) -> Iterator[None]:
    request = fetch(field.target.topic, b"", 12, [(5, 0)], max_wait_ms=30_000)
    frame = field.frame(request, 12)
    yield
    field.flood([frame], connections=300)


@attack("requests of unknown API keys and versions, and random bytes in good frames")
def garbage(field: Field) -> Iterator[None]:
    frames = []
    for number in range(300):
        key, version = (number % 100, number % 40) if number % 3 else (field.random.randrange(-999, 999), -1)
        body = struct.pack(">hhih", key, version, number, len(CLIENT_ID)) + CLIENT_ID + os.urandom(200)
        frames.append(struct.pack(">i", len(body)) + body)
    yield
    field.flood(itertools.cycle(frames), connections=4)

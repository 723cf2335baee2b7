"""Large requests out of the schemas: each is one that its own schema reads, and about as large as wanted."""

import pytest
from bench.hostile.shapes import LONGEST_STRING, Shape, build, can_have, requests

from bifrost.wire.codec import decode
from bifrost.wire.headers import read_request_header, request_body_offset
from bifrost.wire.programs import compile_layout

SIZE = 4000


@pytest.mark.parametrize("shape", Shape)
def test_every_request_can_be_read_by_its_schema(shape: Shape) -> None:
    made = 0
    for schema, version in requests():
        if not can_have(schema, version, shape):
            continue
        frame = build(schema, version, shape, SIZE)
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        header = read_request_header(frame[4:])
        flexible = schema.request_header_version(version) >= 2
        offset, _ = request_body_offset(frame[4:], header.client_id_length, flexible)
        decode(compile_layout(schema.name, version), frame[4:], offset)
        assert SIZE / 4 < len(frame) < 3 * SIZE, (schema.name, version, len(frame))
        made += 1
    assert made > 100


def test_elements_differ_and_lists_are_long() -> None:
    schema, version = next(
        one for one in requests() if one[0].name == "FindCoordinatorRequest" and one[1] == 4
    )
    frame = build(schema, version, Shape.LISTS, 1 << 20)
    header = read_request_header(frame[4:])
    offset, _ = request_body_offset(frame[4:], header.client_id_length, True)
    keys = decode(compile_layout(schema.name, version), frame[4:], offset).coordinator_keys

    assert len(set(keys)) == len(keys) > 100_000


def test_no_string_is_longer_than_kafka_takes() -> None:
    schema, version = next(one for one in requests() if one[0].name == "HeartbeatRequest" and one[1] == 4)

    assert len(build(schema, version, Shape.STRINGS, 1 << 20)) < 4 * LONGEST_STRING


def test_known_tagged_fields_are_filled_as_well() -> None:
    """Those of a Fetch: the ID of the cluster is a string, and a partition has two of its own."""
    schema, version = next(one for one in requests() if one[0].name == "FetchRequest" and one[1] == 18)
    frame = build(schema, version, Shape.TAGS, 1 << 16)
    header = read_request_header(frame[4:])
    offset, _ = request_body_offset(frame[4:], header.client_id_length, True)

    request = decode(compile_layout(schema.name, version), frame[4:], offset)

    assert len(request.cluster_id) > 5_000
    assert request.replica_state.replica_id == -1
    assert any(request.topics[0].partitions[0].replica_directory_id)

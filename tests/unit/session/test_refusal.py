import pytest

from bifrost.session.refusal import build_refusal
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.schema import all_schemas
from support.stage.playbook import read_response

REQUESTS = [schema for schema in all_schemas() if schema.kind == "request"]


@pytest.mark.parametrize("schema", REQUESTS, ids=lambda schema: schema.name)
def test_every_version_of_every_api_is_refused_with_an_error_code_or_by_closing(schema) -> None:
    for version in schema.versions:
        frame = build_refusal(schema.api_key, version, 77)

        if frame is not None:
            assert int.from_bytes(frame[:4], "big") == len(frame) - 4
            assert int.from_bytes(frame[4:8], "big") == 77
            answer = read_response(frame[4:], schema.api_key, version)
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("api_key", "version", "has_place"),
    [
        (ApiKey.PRODUCE, 9, False),
        (ApiKey.METADATA, 12, False),
        (ApiKey.METADATA, 13, True),
        (ApiKey.FETCH, 6, False),
        (ApiKey.FETCH, 7, True),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 3, False),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 4, True),
        (ApiKey.HEARTBEAT, 0, True),
    ],
)
def test_it_takes_an_error_code_at_the_top(api_key: ApiKey, version: int, has_place: bool) -> None:
    assert (build_refusal(api_key, version, 1) is not None) == has_place


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (999, 0),
        (-1, 0),
        (ApiKey.HEARTBEAT, 99),
        (ApiKey.HEARTBEAT, -1),
        (ApiKey.LEADER_AND_ISR, 0),
        (ApiKey.ENVELOPE, 0),
    ],
)
def test_what_is_unknown_has_no_answer(api_key: int, version: int) -> None:
    assert build_refusal(api_key, version, 1) is None

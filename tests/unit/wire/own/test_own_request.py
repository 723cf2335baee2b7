import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.own.own_request import decode_response, encode_request
from support.stage import messages
from support.stage.playbook import read_request, response_frame, split_frames


@pytest.mark.parametrize("version", [0, 3])
def test_a_request_is_framed_with_its_header(version: int) -> None:
    request = messages.ApiVersionsRequest(client_software_name="bifrost", client_software_version="0")

    (frame,) = split_frames(encode_request(request, version, 7))

    header, _, client_id = read_request(frame)
    assert (header.api_version, header.correlation_id, client_id) == (version, 7, b"bifrost")


def test_an_answer_is_read() -> None:
    frame = response_frame(messages.MetadataResponse(controller_id=5), 9, 7)

    assert decode_response(ApiKey.METADATA, 9, 7, frame).controller_id == 5


def test_an_answer_to_another_request_is_none() -> None:
    frame = response_frame(messages.MetadataResponse(), 9, 8)

    with pytest.raises(WireError, match="an answer to another request"):
        decode_response(ApiKey.METADATA, 9, 7, frame)


def test_a_version_that_is_not_known_is_answered_in_the_first() -> None:
    response = messages.ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    frame = response_frame(response, 0, 7)

    assert decode_response(ApiKey.API_VERSIONS, 4, 7, frame).error_code == ErrorCode.UNSUPPORTED_VERSION

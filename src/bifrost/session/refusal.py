"""Answer requests that are not served with an error, where the response has a place for one.

A broker closes the connection on an API or version that it does not know. Most responses in the schema table carry an
error code at the top, and there UNSUPPORTED_VERSION is the clearer answer; for the others the connection is closed,
because the request is not decoded and its items are not known.
"""

from bifrost.filters.error_response import top_level_error
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.headers import response_header
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema


def build_refusal(api_key: int, api_version: int, correlation_id: int) -> bytes | None:
    """Return an UNSUPPORTED_VERSION response, or None when this API and version have no place for one."""
    try:
        ApiKey(api_key)
        schema = response_schema(api_key)
    except (ValueError, KeyError):
        return None
    response = top_level_error(api_key, api_version, ErrorCode.UNSUPPORTED_VERSION)
    if response is None:
        return None
    head = response_header(correlation_id, schema.response_header_version(api_version) >= 1)
    return encode(compile_layout(schema.name, api_version), response, head)

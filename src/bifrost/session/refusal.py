"""Say no to a request that is not served, where its response has a place to say so.

A broker closes the connection on an API or version it does not know. Most responses of APIs that the schema table
knows carry an error code at the top, and there UNSUPPORTED_VERSION is the clearer answer; the others are refused by
closing.
"""

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.engine import encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.headers import response_header
from bifrost.wire.message import message_class
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema


def build_refusal(api_key: int, api_version: int, correlation_id: int) -> bytes | None:
    """Return an UNSUPPORTED_VERSION response, or None when this API and version have no place for one."""
    try:
        ApiKey(api_key)
        schema = response_schema(api_key)
    except (ValueError, KeyError):
        return None
    if api_version not in schema.versions:
        return None
    has_error_code = any(
        field.name == "error_code" and api_version in field.versions for field in schema.fields
    )
    if not has_error_code:
        return None
    response = message_class(schema.name)(error_code=ErrorCode.UNSUPPORTED_VERSION)
    head = response_header(correlation_id, schema.response_header_version(api_version) >= 1)
    return encode(compile_layout(schema.name, api_version), response, head)

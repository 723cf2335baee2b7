"""Enters requests as the engine does, before it sends them on."""

from typing import Any

from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.tenancy.broker_state.walks import entry_walk
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema
from support.stage.messages import build


def enter(kept: KeptEntries, api_key: ApiKey, version: int, **values: Any) -> bool:
    """Enter a request with these fields."""
    name = request_schema(api_key).name
    body = encode_body(compile_layout(name, version), build(name, values, version))
    walk = entry_walk(api_key, version)
    assert walk is not None
    return kept.enter_request(walk, body, 0)

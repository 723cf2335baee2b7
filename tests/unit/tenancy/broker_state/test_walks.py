"""Where requests name what brokers keep."""

import pytest

from bifrost.tenancy.broker_state.walks import KEEPING_APIS, entry_walk
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.schema import request_schema


@pytest.mark.parametrize("api_key", sorted(KEEPING_APIS), ids=lambda key: ApiKey(key).name)
def test_there_is_a_walk_for_each_version(api_key: int) -> None:
    versions = request_schema(api_key).versions
    for version in range(versions.low, versions.high + 1):
        walk = entry_walk(api_key, version)

        assert walk is not None
        assert walk.has_offsets == (api_key in (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT))


@pytest.mark.parametrize("api_key", [ApiKey.METADATA, ApiKey.HEARTBEAT, ApiKey.OFFSET_FETCH, ApiKey.FETCH])
def test_of_other_requests_brokers_keep_nothing(api_key: ApiKey) -> None:
    assert entry_walk(api_key, request_schema(api_key).versions.high) is None

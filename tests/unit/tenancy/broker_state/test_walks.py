"""Where requests name what brokers keep."""

import pytest

from bifrost.tenancy.broker_state.walks import KEEPING_APIS, entry_walk
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.schema import request_schema

FIRST_WITH_MEMBERS = {
    ApiKey.HEARTBEAT: 0,
    ApiKey.SHARE_GROUP_HEARTBEAT: 0,
    ApiKey.OFFSET_COMMIT: 1,
    ApiKey.TXN_OFFSET_COMMIT: 3,
}
NEVER = 1_000


@pytest.mark.parametrize("api_key", sorted(KEEPING_APIS), ids=lambda key: ApiKey(key).name)
def test_there_is_a_walk_for_each_version(api_key: int) -> None:
    versions = request_schema(api_key).versions
    for version in range(versions.low, versions.high + 1):
        walk = entry_walk(api_key, version)

        assert walk is not None
        assert walk.has_offsets == (api_key in (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT))
        assert walk.has_joins == (api_key == ApiKey.SHARE_GROUP_HEARTBEAT)
        assert walk.names_members == (version >= FIRST_WITH_MEMBERS.get(api_key, NEVER))


@pytest.mark.parametrize("api_key", [ApiKey.METADATA, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_FETCH, ApiKey.FETCH])
def test_of_other_requests_brokers_keep_nothing(api_key: ApiKey) -> None:
    assert entry_walk(api_key, request_schema(api_key).versions.high) is None

"""Members of a topic of 50,000 virtual partitions, each on a connection of its own: three may have all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.virtual_partitions.shares.share_room import MAX_BYTES, VIRTUAL_BYTES
from bifrost.tenancy.virtual_partitions.shares.share_sessions import LIMIT
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.clients.raw_client import RawClient
from support.clients.raw_operations import topic_id_of
from support.clients.share_member import ShareMember
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import WAIT_S, create

pytestmark = pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1)

VIRTUAL, PHYSICAL = 50_000, 100
ROOM = MAX_BYTES // (VIRTUAL * VIRTUAL_BYTES)
"""How many members may have all partitions."""


@pytest.fixture(scope="module")
def wide(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        rule = {"topics": ["wide-*"], "virtual": VIRTUAL, "physical": PHYSICAL}
        config["tenants"][0]["virtual_partitions"] = [rule]

    directory = tmp_path_factory.mktemp("bounded_shares")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(directory, warm.bootstrap, **options) as process:
        yield process


@pytest.fixture
def members(wide: GatewayProcess, direct: RawClient, unique: UniqueName) -> Iterator[list[ShareMember]]:
    """One more than may have all partitions."""
    topic = create(wide.endpoint("globex"), direct, unique("wide"), VIRTUAL, PHYSICAL)
    group = unique("sharers")
    with ExitStack() as stack:
        clients = [
            stack.enter_context(RawClient.authenticated(wide.broker_endpoint("globex"), timeout_s=30))
            for _ in range(ROOM + 1)
        ]
        topic_id, version = topic_id_of(clients[0], topic), clients[0].newest(ApiKey.SHARE_FETCH)
        made = [
            ShareMember(client, group, topic, topic_id, version, number)
            for number, client in enumerate(clients)
        ]
        made[0].join()
        yield made


def test_members_of_all_connections_share_a_bound(members: list[ShareMember], wide: GatewayProcess) -> None:
    *first, last = members
    codes = [one.fetch(0, range(VIRTUAL)).error_code for one in members]
    assert codes == [ErrorCode.NONE] * ROOM + [ErrorCode.SHARE_SESSION_LIMIT_REACHED]
    assert value(wide, "kafka_proxy_limits_hit_total", limit=LIMIT, tenant="globex") == 1

    # Sessions that do not grow go on; the one that was refused may begin again, with less.
    assert [one.fetch(1).error_code for one in first] == [ErrorCode.NONE] * ROOM
    assert last.fetch(1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert last.fetch(0, [0]).error_code == ErrorCode.NONE

    # The session that ends makes room, and so does a connection.
    assert first[0].fetch(-1).error_code == ErrorCode.NONE
    assert last.fetch(0, range(VIRTUAL)).error_code == ErrorCode.NONE
    assert first[0].fetch(0, range(VIRTUAL)).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert isinstance(first[1].client, RawClient)
    first[1].client.close()
    deadline = time.monotonic() + WAIT_S
    while first[0].fetch(0, range(VIRTUAL)).error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline

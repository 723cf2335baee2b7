"""Quotas of client IDs at the broker: whose allowance a tenant uses up, and that its tools show its own client IDs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterClientQuotasRequest,
    ConsumerGroupDescribeRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
)
from support.clients.group_member import member_of
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce, produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import FreshTopic, StartGateway, UniqueName
from support.gateways.gateway_process import GLOBEX, INITECH, GatewayProcess
from support.physical_names import MARK, physical_name, prefix_of

ALLOWANCE = 10_000
"""Bytes a second."""
TOO_MUCH = 500_000
"""Bytes in one batch: several times what is allowed in the 10 s that Kafka averages over."""
BOUND_S = 20.0
"""Until the broker has heard of a quota."""

TENANTS = [GLOBEX, INITECH]


@pytest.fixture(autouse=True)
def topics(fresh_topic: FreshTopic) -> None:
    for tenant in TENANTS:
        fresh_topic(tenant.name, "quotas")


def alter_quota(direct: RawClient, client_id: str | None, rate: int | None) -> None:
    """Set or remove the quota of a client ID, or of all that have none of their own (None)."""
    request = AlterClientQuotasRequest(
        entries=[
            AlterClientQuotasRequest.EntryData(
                entity=[AlterClientQuotasRequest.EntityData(entity_type="client-id", entity_name=client_id)],
                ops=[
                    AlterClientQuotasRequest.OpData(
                        key="producer_byte_rate", value=float(rate or 0), remove=rate is None
                    )
                ],
            )
        ],
        validate_only=False,
    )
    response = direct.request(request, 1)
    assert response.entries[0].error_code == ErrorCode.NONE, response


@contextmanager
def quota(direct: RawClient, client_id: str | None) -> Iterator[None]:
    alter_quota(direct, client_id, ALLOWANCE)
    try:
        yield
    finally:
        alter_quota(direct, client_id, None)


def throttled_ms(gateway: GatewayProcess, tenant: str, client_id: str, size: int = 1) -> int:
    """Produce a record on a connection of its own; return how long the broker wants its client to pause."""
    with RawClient.authenticated(gateway.broker_endpoint(tenant), client_id=client_id) as client:
        response = client.request(produce_request("quotas", build_batch([b"x" * size])), PRODUCE_BY_NAME)
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE, response
    return int(response.throttle_time_ms)


def use_up(gateway: GatewayProcess, tenant: str, client_id: str) -> None:
    """Produce until the broker throttles the client."""
    deadline = time.monotonic() + BOUND_S
    while throttled_ms(gateway, tenant, client_id, TOO_MUCH) == 0:
        assert time.monotonic() < deadline, "the broker does not hold its quota"


def unchanged(configuration: dict[str, Any]) -> None:
    for tenant in configuration["tenants"]:
        tenant["client_ids"] = "unchanged"


def test_without_the_prefix_one_tenant_uses_up_what_another_is_allowed(
    start_gateway: StartGateway, direct: RawClient, unique: UniqueName
) -> None:
    """What the prefix is for; and `unchanged` leaves client IDs as they are."""
    gateway, client_id = start_gateway(tenants=TENANTS, adjust=unchanged), unique("app")

    with quota(direct, client_id):
        use_up(gateway, "globex", client_id)

        assert throttled_ms(gateway, "initech", client_id) > 0


def test_a_quota_of_a_client_id_is_one_tenant_s(
    start_gateway: StartGateway, direct: RawClient, unique: UniqueName
) -> None:
    gateway, client_id = start_gateway(tenants=TENANTS), unique("app")

    with (
        quota(direct, client_id),
        quota(direct, physical_name("globex", client_id)),
        quota(direct, physical_name("initech", client_id)),
    ):
        use_up(gateway, "globex", client_id)

        assert [throttled_ms(gateway, "initech", client_id) for _ in range(5)] == [0] * 5
        assert throttled_ms(gateway, "globex", client_id) > 0


@pytest.mark.parametrize("client_id", ["", "app"])
def test_the_default_quota_holds_for_each_tenant_by_itself(
    start_gateway: StartGateway, direct: RawClient, client_id: str
) -> None:
    gateway = start_gateway(tenants=TENANTS)

    with quota(direct, None):
        use_up(gateway, "globex", client_id)

        assert throttled_ms(gateway, "initech", client_id) == 0


def test_a_tenant_s_tools_show_its_own_client_ids(
    gateway: GatewayProcess, direct: RawClient, unique: UniqueName
) -> None:
    """Of a dynamic member of a classic group, whose ID the broker makes; and that ID is the member's at the broker."""
    group = unique("group")
    endpoint = gateway.broker_endpoint("globex")
    with RawClient.authenticated(endpoint, never_receives=[MARK.encode()]) as client:
        produce(client, "quotas", [b"one"])
        with member_of(gateway.endpoint("globex"), group, "quotas", client_id="app"):
            (shown,) = described(client, group)
            (known,) = described(direct, physical_name("globex", group))
            left = remove(client, group, shown.member_id)

            assert (shown.client_id, known.client_id) == ("app", physical_name("globex", "app"))
            assert shown.member_id.startswith("app-")
            assert known.member_id.startswith(physical_name("globex", "app-"))
            assert len(known.member_id) == len(prefix_of("globex")) + len(shown.member_id)
            assert (left.member_id, left.error_code) == (shown.member_id, ErrorCode.NONE)


def described(client: RawClient, group: str) -> list[Any]:
    """Return the members of a classic group."""
    request = DescribeGroupsRequest(groups=[group])
    response = client.request(request, client.at_most(ApiKey.DESCRIBE_GROUPS, 5))
    return list(response.groups[0].members)


def remove(client: RawClient, group: str, member_id: str) -> Any:
    """Remove a member as an admin does; return the broker's answer about it."""
    request = LeaveGroupRequest(
        group_id=group, members=[LeaveGroupRequest.MemberIdentity(member_id=member_id)]
    )
    return client.request(request, 4).members[0]


@pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)  # With older brokers the group found no member.
def test_so_do_they_of_the_new_protocol(
    gateway: GatewayProcess, direct: RawClient, unique: UniqueName
) -> None:
    group = unique("group")
    endpoint = gateway.broker_endpoint("globex")
    with RawClient.authenticated(endpoint, never_receives=[MARK.encode()]) as client:
        produce(client, "quotas", [b"one"])
        with member_of(gateway.endpoint("globex"), group, "quotas", protocol="consumer", client_id="app"):
            request = ConsumerGroupDescribeRequest(group_ids=[group])
            (shown,) = client.request(request, 0).groups[0].members
            request = ConsumerGroupDescribeRequest(group_ids=[physical_name("globex", group)])
            (known,) = direct.request(request, 0).groups[0].members

    assert (shown.client_id, known.client_id) == ("app", physical_name("globex", "app"))
    assert shown.member_id == known.member_id

"""What a tenant makes brokers keep in memory has a bound: groups, offsets, transactional IDs, producers, client IDs."""

from __future__ import annotations

import re
import select
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    InitProducerIdRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    ProduceRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, warm_up
from support.clients.record_batches import build_batch
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway, UniqueName

JCMD = shutil.which("jcmd")
needs_jcmd = pytest.mark.skipif(
    JCMD is None, reason="jcmd, which counts the broker's objects, is not installed"
)

MOST, TRIED, PARTITIONS = 20, 300, 60
LIMITS = (
    "max_groups",
    "max_group_members",
    "max_committed_offsets",
    "max_transactional_ids",
    "max_producers",
    "max_client_ids",
)
Codes = Counter[int]


def commit(client: RawClient, group: str, topic: str, partitions: range) -> list[int]:
    """Commit an offset of each partition, without members; return the error codes."""
    new = OffsetCommitRequest
    entries = [
        new.OffsetCommitRequestPartition(partition_index=number, committed_offset=5, committed_metadata="")
        for number in partitions
    ]
    topics = [new.OffsetCommitRequestTopic(name=topic, partitions=entries)]
    (answer,) = client.request(new(group_id=group, topics=topics), 7).topics
    return [one.error_code for one in answer.partitions]


def commit_by_many_groups(client: RawClient, topic: str, unique: str) -> Codes:
    return Counter(commit(client, f"{unique}-{number}", topic, range(1))[0] for number in range(TRIED))


def commit_many_partitions(client: RawClient, topic: str, unique: str) -> Codes:
    codes: Codes = Counter()
    for number in range(TRIED // PARTITIONS):
        codes.update(commit(client, f"{unique}-{number}", topic, range(PARTITIONS)))
    return codes


def use_many_transactional_ids(client: RawClient, topic: str, unique: str) -> Codes:
    def init(number: int) -> int:
        name = f"{unique}-{number}"
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        return int(client.request(request, 1).error_code)

    return Counter(map(init, range(TRIED)))


def write_by_many_producers(client: RawClient, topic: str, unique: str) -> Codes:
    new = ProduceRequest

    def write(number: int) -> int:
        batch = build_batch([b"value"], producer_id=10**9 + number, producer_epoch=0, base_sequence=0)
        partition = new.PartitionProduceData(index=0, records=batch)
        data = [new.TopicProduceData(name=topic, partition_data=[partition])]
        (answer,) = client.request(new(acks=1, timeout_ms=5_000, topic_data=data), 8).responses
        return int(answer.partition_responses[0].error_code)

    return Counter(map(write, range(TRIED)))


Attack = Callable[[RawClient, str, str], Codes]
ATTACKS: dict[str, tuple[Attack, str]] = {
    "max_groups": (commit_by_many_groups, "ClassicGroup|group.GroupMetadata"),
    "max_committed_offsets": (commit_many_partitions, "OffsetAndMetadata"),
    "max_transactional_ids": (use_many_transactional_ids, "TransactionMetadata"),
    "max_producers": (write_by_many_producers, "ProducerStateEntry"),
}
"""By limit, the attack, and the class of the objects that a broker keeps then."""


def kept_by_broker(kafka: EmbeddedKafka, class_name: str) -> int:
    """Return how many objects of a class the broker's heap has, after a collection of garbage."""
    (pid,) = kafka.pids
    command = [str(JCMD), str(pid), "GC.class_histogram"]
    histogram = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pattern = rf"^\s*\d+:\s+(\d+)\s+\d+\s+\S*[.$](?:{class_name})(?: |$)"
    return sum(int(count) for count in re.findall(pattern, histogram, re.MULTILINE))


@needs_jcmd
@pytest.mark.parametrize("limit", ATTACKS)
def test_a_broker_keeps_what_it_is_told_without_a_gateway(
    kafka: EmbeddedKafka, unique: UniqueName, limit: str
) -> None:
    host, port = kafka.bootstrap.split(",")[0].split(":")
    attack, class_name = ATTACKS[limit]
    with RawClient(Endpoint(host, int(port))) as direct:
        topic = unique("direct")
        create_topic(direct, topic, PARTITIONS)
        warm_up(direct)
        before = kept_by_broker(kafka, class_name)

        assert attack(direct, topic, topic) == {0: TRIED}
        assert kept_by_broker(kafka, class_name) >= before + TRIED * 0.9


@needs_jcmd
@pytest.mark.parametrize("limit", ATTACKS)
def test_through_the_gateway_it_keeps_no_more_than_the_limit(
    kafka: EmbeddedKafka, start_gateway: StartGateway, unique: UniqueName, limit: str
) -> None:
    gateway = start_gateway(has_admin=True, limits=dict.fromkeys(LIMITS, 1_000) | {limit: MOST})
    attack, class_name = ATTACKS[limit]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        topic = unique("orders")
        create_topic(client, topic, PARTITIONS)
        with RawClient.authenticated(gateway.broker_endpoint("initech")) as other:
            warm_up(other)
        before = kept_by_broker(kafka, class_name)

        assert attack(client, topic, topic) == {0: MOST, ErrorCode.POLICY_VIOLATION: TRIED - MOST}
        assert kept_by_broker(kafka, class_name) <= before + 2 * MOST
        assert attack(client, topic, topic)[0] == MOST, "what is kept goes on"

    refused = value(gateway, "kafka_proxy_limits_hit_total", limit=limit, tenant="globex")
    assert refused >= 2 * (TRIED - MOST)


JOINED, TOLD = 100, 4_096
"""How many members try to join, and bytes that each of them tells."""
MEMBER = "ClassicGroupMember|group.MemberMetadata"


def join(clients: Sequence[RawClient], group: str) -> Codes:
    """Let each client join a group as a static member, and return the errors of those that were answered."""
    new, codes = JoinGroupRequest, Codes()
    for number, client in enumerate(clients):
        request = new(
            group_id=group,
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            group_instance_id=f"member-{number}",
            protocol_type="mine",
            protocols=[new.JoinGroupRequestProtocol(name="mine", metadata=bytes(TOLD))],
        )
        sent = client.send(request, 5)
        # All but the first wait for that one to join again.
        if select.select([client.socket], [], [], 10.0 if number == 0 else 0.05)[0]:
            codes[client.receive(ApiKey.JOIN_GROUP, 5, sent).error_code] += 1
    return codes


@needs_jcmd
def test_a_broker_keeps_all_members_without_a_gateway(kafka: EmbeddedKafka, unique: UniqueName) -> None:
    host, port = kafka.bootstrap.split(",")[0].split(":")
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(Endpoint(host, int(port)))) for _ in range(JOINED)]
        warm_up(clients[0])
        before = kept_by_broker(kafka, MEMBER)

        assert join(clients, unique("group")) == {0: 1}
        assert kept_by_broker(kafka, MEMBER) >= before + JOINED


@needs_jcmd
def test_through_the_gateway_it_keeps_no_more_members_than_there_is_room_for(
    kafka: EmbeddedKafka, start_gateway: StartGateway, unique: UniqueName
) -> None:
    gateway = start_gateway(has_admin=True, limits={"max_group_members": 3 * MOST})
    endpoint = gateway.broker_endpoint("globex")
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient.authenticated(endpoint)) for _ in range(JOINED)]
        with RawClient.authenticated(gateway.broker_endpoint("initech")) as other:
            warm_up(other)
        before = kept_by_broker(kafka, MEMBER)

        # Each is one, and two more for what it tells.
        assert join(clients, unique("group")) == {0: 1, ErrorCode.GROUP_MAX_SIZE_REACHED: JOINED - MOST}
        assert kept_by_broker(kafka, MEMBER) == before + MOST

    refused = value(gateway, "kafka_proxy_limits_hit_total", limit="max_group_members", tenant="globex")
    assert refused == JOINED - MOST


def test_further_client_ids_share_one_at_the_brokers(
    start_gateway: StartGateway, direct: RawClient, unique: UniqueName
) -> None:
    gateway = start_gateway(has_admin=True, limits={"max_client_ids": MOST})
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="default", metadata=b"")

    def member_id(client: RawClient, number: int) -> str:
        """Return the member ID that a broker makes, of the client ID that it sees (KIP-394)."""
        client.client_id = f"client-{number}"
        join = JoinGroupRequest(
            group_id=unique("group"),
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="connect",
            protocols=[protocol],
        )
        answer = client.request(join, 5)
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return str(answer.member_id)

    warm_up(direct)
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        members = [member_id(client, number) for number in (*range(2 * MOST), 0)]

    assert members[0].startswith("client-0-")
    assert members[2 * MOST - 1].startswith("other-clients-")
    assert members[2 * MOST].startswith("client-0-")
    # The client of the handshake has an ID as well.
    assert sum(one.startswith("client-") for one in members) in (MOST, MOST + 1)
    assert value(gateway, "kafka_proxy_limits_hit_total", limit="max_client_ids", tenant="globex") >= MOST


def test_it_is_told_how_much_of_a_limit_is_used(
    start_gateway: StartGateway, direct: RawClient, unique: UniqueName
) -> None:
    gateway = start_gateway(has_admin=True, limits={"max_transactional_ids": MOST})
    warm_up(direct)

    def used(tenant: str) -> float:
        labels = {"limit": "max_transactional_ids", "tenant": tenant}
        deadline = time.monotonic() + 15
        name = "kafka_proxy_broker_state_used_ratio"
        # Workers tell it every five seconds.
        while (found := value(gateway, name, **labels)) == before and time.monotonic() < deadline:
            time.sleep(0.2)
        return found

    def use(client: RawClient, number: int) -> int:
        request = InitProducerIdRequest(
            transactional_id=unique(f"id-{number}"), transaction_timeout_ms=60_000
        )
        return int(client.request(request, 4).error_code)

    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        before = 0.0
        for number in range(MOST // 4):
            use(client, number)
        assert used("globex") == 0.25
        before = 0.25
        codes = [use(client, MOST + number) for number in range(MOST)]
        assert codes.count(ErrorCode.POLICY_VIOLATION) == MOST // 4
        assert used("globex") == 1.0

    assert value(gateway, "kafka_proxy_broker_state_used_ratio", limit="max_groups", tenant="initech") == 0

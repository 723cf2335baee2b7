"""Share sessions (KIP-932) at a single address: they go on as at a broker, and end with the client's connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.gateway.routing.share_requests import FULL, MAX_SESSIONS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateTopicsRequest,
)
from bifrost.wire.schema import request_schema
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, produce
from support.clients.routed_client import RoutedClient
from support.clients.share_member import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledged,
    AnyClient,
    ShareMember,
)
from support.gateways.admin_port import value
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import physical_name

VERSIONS = list(request_schema(ApiKey.SHARE_FETCH).versions)
PARTITIONS = 3
NO_TOPIC = b"no topic has i"
"""How its ID begins: what was looked up is remembered, so each is named once."""
WAIT_S = 30.0
LOCK_S = 30.0
"""`group.share.record.lock.duration.ms`, by default."""

pytestmark = pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1)


def shown(answer: Any, acknowledged: Sequence[Acknowledged] = ()) -> tuple[int, list[tuple[Any, ...]]]:
    """What an answer says: its error, and each partition of which it says something, in the order of their numbers."""
    named = {one for one, *_ in acknowledged}
    partitions = [
        (
            one.partition_index,
            one.error_code,
            getattr(one, "acknowledge_error_code", None),
            [(a.first_offset, a.last_offset, a.delivery_count) for a in getattr(one, "acquired_records", ())],
        )
        for topic in answer.responses
        for one in topic.partitions
        if one.error_code or getattr(one, "acquired_records", True) or one.partition_index in named
    ]
    return answer.error_code, sorted(partitions)


@dataclass
class Script:
    """What a member does, one step after the other."""

    member: ShareMember
    answers: list[Any] = field(default_factory=list)

    def fetch(
        self,
        asked: Sequence[int] = (),
        forgotten: Sequence[int] = (),
        acknowledged: Sequence[Acknowledged] = (),
        **options: Any,
    ) -> None:
        answer = self.member.fetch(self.member.take_epoch(), asked, forgotten, acknowledged, **options)
        self.answers.append(shown(answer, acknowledged))

    def acknowledge(self, *args: Any, **options: Any) -> None:
        self.answers.append(shown(self.member.acknowledge(self.member.take_epoch(), *args, **options)))

    def wrong(self, answer: Any) -> None:
        """Note the answer to a request that is no next one."""
        self.answers.append(shown(answer))

    def write(self, *partitions: int) -> None:
        for one in partitions:
            produce(self.member.client, self.member.topic, [b"a record", b"another"], one)


def acknowledgements_ride_on_fetches(script: Script) -> None:
    script.write(0, 1)
    assert script.member.fetch_records([0, 1]) == {0: (0, 1), 1: (0, 1)}
    script.fetch([], [], [(0, 0, 0, ACCEPT), (1, 0, 0, REJECT)], wait_ms=0)
    script.fetch([], [], [(0, 0, 0, ACCEPT), (1, 1, 1, REJECT)], wait_ms=0)
    script.fetch([], [], [(0, 7, 8, ACCEPT)], wait_ms=0)
    script.fetch([], [], [(0, 1, 1, ACCEPT)], wait_ms=0)
    script.fetch()


def acknowledgements_come_alone(script: Script) -> None:
    script.write(0, 2)
    script.member.fetch_records([0, 2])
    script.acknowledge([(0, 0, 1, ACCEPT), (2, 0, 0, ACCEPT)])
    script.acknowledge([(0, 0, 1, ACCEPT)])
    script.acknowledge([(2, 1, 1, RELEASE)])
    assert script.member.fetch_records([], [2]) == {2: (1, 1)}
    script.acknowledge([(1, 0, 0, ACCEPT), (77, 0, 0, ACCEPT)])
    script.acknowledge()
    script.wrong(script.member.acknowledge(-1))
    script.wrong(script.member.acknowledge(script.member.epoch))


def partitions_come_and_go(script: Script) -> None:
    script.write(0)
    script.member.fetch_records([0, 1], [0])
    script.fetch([2], [1])
    script.write(1, 2)
    script.member.fetch_records([], [2])
    script.fetch([], [0, 2], [(0, 0, 1, ACCEPT), (2, 0, 1, ACCEPT)], wait_ms=0)
    script.fetch()
    script.fetch([1], wait_ms=2000)
    script.fetch([], [1])


def wrong_ones_are_refused(script: Script) -> None:
    member = script.member
    script.wrong(member.fetch(1))
    script.wrong(member.acknowledge(1))
    script.wrong(member.fetch(-1))
    script.wrong(member.acknowledge(-1))
    script.wrong(member.fetch(0, [], [], [(0, 0, 0, ACCEPT)]))
    script.fetch([0])
    script.wrong(member.fetch(5))
    script.wrong(member.acknowledge(5))
    script.wrong(member.acknowledge(0))
    script.fetch()
    script.wrong(member.fetch(-1))
    script.wrong(member.fetch(member.epoch))


def a_session_begins_anew(script: Script) -> None:
    script.write(0)
    script.member.fetch_records([0])
    script.member.epoch = 0
    script.fetch([1], wait_ms=0)
    script.fetch()
    script.member.epoch = 0
    script.fetch([0], wait_ms=0)
    script.acknowledge([(0, 0, 1, ACCEPT)])
    script.wrong(script.member.fetch(-1, [], [], [(0, 0, 1, ACCEPT)]))


def locks_are_renewed(script: Script) -> None:
    script.write(0)
    script.member.fetch_records([0])
    script.acknowledge([(0, 0, 1, RENEW)], is_renew_ack=True)
    script.acknowledge([(0, 0, 1, RENEW)])
    nothing = {"wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "batch_size": 0}
    script.fetch([], [], [(0, 0, 1, RENEW)], is_renew_ack=True, **nothing)
    script.fetch([], [], [(0, 0, 0, ACCEPT)], wait_ms=0)
    script.wrong(script.member.fetch(script.member.epoch, [], [], [(0, 1, 1, RENEW)], is_renew_ack=True))


def some_do_not_exist(script: Script) -> None:
    script.fetch([77, 78], wait_ms=0)
    script.fetch([79], [77], wait_ms=0)
    script.fetch(wait_ms=0)
    script.acknowledge([(78, 0, 0, ACCEPT), (80, 0, 0, ACCEPT)])


def a_topic_is_unknown(script: Script) -> None:
    """Whether a broker has given records in the session or not, and has a session at all or not."""
    member, own = script.member, script.member.topic_id
    script.write(0)
    script.fetch(wait_ms=0)
    for is_read in (False, True):
        if is_read:
            member.fetch_records([0])
        member.topic_id = NO_TOPIC + bytes([member.version, is_read])
        script.acknowledge([(0, 0, 0, ACCEPT), (1, 0, 0, ACCEPT)])
        member.topic_id = own
    script.acknowledge([(0, 0, 1, ACCEPT)])
    member.topic_id = NO_TOPIC + bytes([member.version, 2])
    script.wrong(member.acknowledge(-1, [(0, 0, 0, ACCEPT)]))


SCRIPTS = [
    (run, version)
    for run in (
        acknowledgements_ride_on_fetches,
        acknowledgements_come_alone,
        partitions_come_and_go,
        wrong_ones_are_refused,
        a_session_begins_anew,
        some_do_not_exist,
        a_topic_is_unknown,
    )
    for version in VERSIONS
] + [(locks_are_renewed, 2)]


@pytest.mark.parametrize(("run", "version"), SCRIPTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_session_goes_on_as_at_a_broker(
    run: Callable[[Script], None], version: int, gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    assigned = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=n, broker_ids=[1])
        for n in range(PARTITIONS)
    ]
    found = []
    at_broker = Endpoint("127.0.0.1", kafka_cluster.broker_port(1))
    single = RawClient.authenticated(gateway.endpoint("initech"))
    with single, RoutedClient(at_broker) as direct:
        ways: tuple[tuple[AnyClient, str], ...] = ((direct, "direct"), (single, "single"))
        for client, where in ways:
            name = f"shared-{run.__name__}-{version}-{where}".replace("_", "-")
            physical = name if where == "direct" else physical_name("initech", name)
            # All at one broker, for only that can be compared.
            topic_id = create_topic(direct, physical, PARTITIONS, assignments=assigned)
            member = ShareMember(client, f"group-{name}", name, topic_id, version)
            member.join()
            script = Script(member)
            run(script)
            found.append(script.answers)

    assert found[1] == found[0]


@pytest.fixture
def members(gateway: GatewayProcess, request: pytest.FixtureRequest) -> Iterator[list[ShareMember]]:
    """Two members of a group, each with a connection, that read a topic of three brokers."""
    name = request.node.name.replace("_", "-").replace("[", "-").rstrip("]")
    clients = [RawClient.authenticated(gateway.endpoint("initech")) for _ in range(2)]
    topic_id = create_topic(clients[0], name, PARTITIONS)
    version = clients[0].newest(ApiKey.SHARE_FETCH)
    made = [
        ShareMember(client, f"group-{name}", name, topic_id, version, number)
        for number, client in enumerate(clients)
    ]
    for one in made:
        one.join()
    yield made
    for client in clients:
        client.close()


def everywhere() -> range:
    return range(PARTITIONS)


def test_a_session_is_one_for_all_leaders(members: list[ShareMember]) -> None:
    first, second = members
    for round_ in range(3):
        Script(first).write(*everywhere())
        offsets = (2 * round_, 2 * round_ + 1)
        assert first.fetch_records(() if round_ else everywhere(), everywhere()) == dict.fromkeys(
            everywhere(), offsets
        )
        acknowledged = [(one, *offsets, ACCEPT) for one in everywhere()]
        answer = first.acknowledge(first.take_epoch(), acknowledged)
        assert shown(answer) == (ErrorCode.NONE, [(one, 0, None, []) for one in everywhere()])

    assert shown(second.fetch(0, everywhere(), wait_ms=500))[0] == ErrorCode.NONE
    assert not any(acquired for *_, acquired in shown(second.fetch(1, wait_ms=500))[1])


def test_results_of_acknowledgements_do_not_wait_for_polls(members: list[ShareMember]) -> None:
    first, _ = members
    Script(first).write(*everywhere())
    found = first.fetch_records(everywhere())
    acknowledged = [(one, *offsets, ACCEPT) for one, offsets in found.items()]

    began = time.monotonic()
    answer = first.acknowledge(first.take_epoch(), acknowledged)
    took_s = time.monotonic() - began

    assert shown(answer) == (ErrorCode.NONE, [(one, 0, None, []) for one in everywhere()])
    assert took_s < 5
    Script(first).write(0)
    began = time.monotonic()
    assert first.fetch_records((), [0]) == {0: (2, 3)}
    assert time.monotonic() - began < 5, "a poll at an idle broker holds nothing of another one"


def test_what_a_lost_connection_had_acquired_is_free_at_once(members: list[ShareMember]) -> None:
    first, second = members
    Script(first).write(*everywhere())
    assert first.fetch_records(everywhere()).keys() == set(everywhere())

    assert isinstance(first.client, RawClient)
    first.client.close()
    began = time.monotonic()
    found = second.fetch_records(everywhere())

    assert found == dict.fromkeys(everywhere(), (0, 1))
    assert time.monotonic() - began < LOCK_S / 2, "brokers released it when the connections to them ended"


def test_a_session_is_its_connections_own(members: list[ShareMember], gateway: GatewayProcess) -> None:
    first, _ = members
    assert first.fetch(0, [0]).error_code == ErrorCode.NONE

    with RawClient.authenticated(gateway.endpoint("initech")) as other:
        elsewhere = ShareMember(other, first.group, first.topic, first.topic_id, first.version, first.number)
        assert elsewhere.fetch(1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    assert first.fetch(1).error_code == ErrorCode.NONE


def test_sessions_beyond_the_bound_are_refused(members: list[ShareMember], gateway: GatewayProcess) -> None:
    first, _ = members
    before = value(gateway, "kafka_proxy_limits_hit_total", limit=FULL, tenant="initech")

    def begun(number: int) -> int:
        member = ShareMember(first.client, first.group, first.topic, first.topic_id, first.version, number)
        return int(member.fetch(0).error_code)

    codes = [begun(number) for number in range(MAX_SESSIONS + 1)]

    assert codes == [ErrorCode.NONE] * MAX_SESSIONS + [ErrorCode.SHARE_SESSION_LIMIT_REACHED]
    assert value(gateway, "kafka_proxy_limits_hit_total", limit=FULL, tenant="initech") == before + 1
    assert first.fetch(-1).error_code == ErrorCode.NONE
    assert begun(MAX_SESSIONS + 1) == ErrorCode.NONE, "a session that has ended makes room"

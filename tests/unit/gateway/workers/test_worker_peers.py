"""What two workers have in common, here in one process."""

import asyncio
import socket
from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.forwarding.lane import Awaited
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.workers.shared_counters import SharedCounters, SharedCountersReader, new_shared_counters
from bifrost.gateway.workers.shared_limits import (
    BEAT_MS,
    CONNECTIONS,
    GONE,
    IN_FLIGHT,
    IS_READY,
    TAKEN,
    Places,
    SharedLimits,
)
from bifrost.gateway.workers.worker_peers import NO_SUCH, WorkerPeers
from bifrost.journal.known_topics import Known
from bifrost.journal.record import RecordKind, Source
from bifrost.journal.record_buffer import DropReason
from bifrost.session.close_reason import CloseReason
from bifrost.wire.api_keys import ApiKey
from support.stage.lanes import SAME_NAMES
from unit.gateway.test_gateway import CONFIG

from .conftest import Pair

LIMITED = Config.model_validate(
    {
        **CONFIG,
        "proxy": {**CONFIG["proxy"], "workers": 2},
        "tenants": [
            {**tenant, "limits": {"max_connections": 2, "max_in_flight_requests": 2}}
            for tenant in CONFIG["tenants"]
        ],
    }
)


JOURNALLING = Config.model_validate(
    {**CONFIG, "proxy": {**CONFIG["proxy"], "workers": 2, "journal": {"gateway_id": "gw"}}}
)


class Crew:
    """Two workers of one gateway."""

    def __init__(self, pair: Pair, config: Config = LIMITED) -> None:
        self.pair = pair
        self.shared_limits, self.places = SharedLimits.create(2), Places()
        self.places.add(iter(["", "acme", "globex"]))
        self.told: list[Any] = []
        self.counters = [new_shared_counters(), new_shared_counters()]
        self.peers = [self._peers_of(number) for number in range(2)]
        self.gateways = [Gateway(config, None, one) for one in self.peers]

    def _peers_of(self, number: int) -> WorkerPeers:
        channel: Any = self
        arriving = self.pair(socket.SOCK_SEQPACKET)[0]
        counters = SharedCounters(self.counters[number])
        return WorkerPeers(
            number, self.shared_limits, counters, b"key", self.places, channel, arriving, 100 + number
        )

    def tell(self, message: Any, content: bytes = b"") -> None:
        self.told.append(message)
        if message["do"] == "known":
            self.peers[1].shared_topics.hear(content)

    def counted(self, number: int) -> dict[Any, tuple[int, ...]]:
        return dict(SharedCountersReader(self.counters[number]).read())


@pytest.fixture
def crew(pair: Pair) -> Crew:
    return Crew(pair)


def test_an_address_waits_in_one_for_what_failed_in_the_other(crew: Crew) -> None:
    one, other = crew.gateways

    one.failed_authentications.note("192.0.2.1", 0)

    assert other.failed_authentications.delay_ms("192.0.2.1", 1) == 100


def test_a_fetch_session_is_known_to_all(crew: Crew) -> None:
    one, other = (gateway.clusters["upstream"].fetch_sessions for gateway in crew.gateways)

    one.claim(1, 7, "acme")

    assert other.is_owned(1, 7, "acme")
    assert not other.is_owned(1, 7, "globex")


def test_an_unknown_user_is_the_same_in_all(crew: Crew) -> None:
    keys = {gateway.client_authenticators._key for gateway in crew.gateways}

    assert keys == {b"key"}


def test_connections_of_a_tenant_are_counted_together(crew: Crew) -> None:
    one, other = (gateway.tenants for gateway in crew.gateways)

    assert [one.admit("acme", 1), other.admit("acme", 2)] == [True, True]
    assert [one.admit("acme", 3), other.admit("acme", 4)] == [False, False]
    other.forget("acme", 2)
    assert one.admit("acme", 5)
    assert [crew.shared_limits.tenant(number, 2)[CONNECTIONS] for number in range(2)] == [2, 0]


def test_requests_in_flight_are_counted_together(crew: Crew) -> None:
    every = [gateway.shared.lanes for gateway in crew.gateways]
    lanes = [one.new_lane("acme", SAME_NAMES, ApiKey.FETCH, 12) for one in every]
    awaited = [Awaited(1, lane, None) for lane in lanes]

    assert [lane.load.is_full for lane in lanes] == [True, True]
    assert [crew.shared_limits.tenant(number, 2)[IN_FLIGHT] for number in range(2)] == [1, 1]
    awaited[0].finish(10)
    assert [lane.load.is_full for lane in lanes] == [False, False]
    assert crew.counted(0)["traffic", "acme", 1][2] == 10


def test_what_is_counted_stands_in_the_counters_of_each(crew: Crew) -> None:
    one, _ = crew.gateways
    one.count_end(CloseReason.TENANT_CONNECTIONS, "acme")
    one.pauses.add("client", 5)

    assert crew.counted(0)["ends", "tenant_connections"] == (1,)
    assert crew.counted(0)["limits_hit", "max_connections", "acme"] == (1,)
    assert crew.counted(0)["pauses", "client"] == (5,)
    assert ("ends", "tenant_connections") not in crew.counted(1)


def test_a_worker_says_how_many_connections_it_has_no_more(crew: Crew) -> None:
    peers = crew.peers[1]

    peers._note_taken(5)
    peers.note_open(1)

    pulse = crew.shared_limits.pulse(1)
    assert (pulse[TAKEN], pulse[GONE]) == (5, 4)


def test_a_worker_gives_signs_of_life(crew: Crew) -> None:
    gateway, peers = crew.gateways[0], crew.peers[0]
    gateway.is_ready = True

    asyncio.run(alive(peers, gateway))

    pulse = crew.shared_limits.pulse(0)
    assert pulse[BEAT_MS] > 0
    assert pulse[IS_READY] == 1
    assert crew.counted(0)["brokers", "upstream"] == (0,)
    assert crew.counted(0)["answering", "upstream"] == (0,)
    assert crew.counted(0)["authentications", "", "PLAIN", "failure"] == (0,)


def test_a_worker_tells_how_much_of_each_limit_is_used(crew: Crew) -> None:
    gateway, peers = crew.gateways[0], crew.peers[0]
    acme = gateway.shared.virtual_clusters.of_tenant("acme")
    assert acme is not None
    assert acme.namespace.kept is not None
    acme.namespace.kept.enter_group(b"app")
    peers._used["gone", "max_groups"] = 5

    asyncio.run(alive(peers, gateway))

    most = acme.namespace.kept.state.groups.most
    assert crew.counted(0)["used_limits", "acme", "max_groups"] == (1_000_000 // most,)
    assert crew.counted(0)["used_limits", "gone", "max_groups"] == (0,)


def test_a_physical_cluster_that_is_gone_is_counted_no_more(crew: Crew) -> None:
    gateway, peers = crew.gateways[0], crew.peers[0]
    peers._brokers["before"] = 3

    peers._note_upstreams(gateway)

    assert crew.counted(0)["brokers", "before"] == (NO_SUCH,)


def test_that_it_serves_is_told_and_not_logged(crew: Crew, logged: list[Any]) -> None:
    crew.peers[0].tell_ready([1, 2], 3)

    assert crew.told == [{"do": "ready", "brokers": [1, 2], "tenants": 3}]
    assert logged == []


def test_each_writes_in_the_journal_as_a_gateway_of_its_own(pair: Pair) -> None:
    crew = Crew(pair, JOURNALLING)
    gateway, peers = crew.gateways[1], crew.peers[1]
    assert gateway.journaling is not None
    journal = gateway.journaling.journal

    journal.event("start", "done")
    journal.buffer.drop(RecordKind.EVENT, "acme", DropReason.EVENT_LIMIT)
    asyncio.run(alive(peers, gateway))

    assert journal.source == Source("gw/1", 101)
    counted = crew.counted(1)
    assert counted["journal_dropped", "acme", "event", "event_limit"] == (1,)
    assert counted["journal_state", "buffer_bytes"] == (journal.buffer.size,)
    assert (counted["journal_state", "usage_rows"], counted["journal_state", "is_up"]) == ((0,), (0,))
    assert not [key for key in crew.counted(0) if str(key[0]).startswith("journal")]


async def alive(peers: WorkerPeers, gateway: Gateway) -> None:
    """Let a worker live for a moment."""
    living = asyncio.create_task(peers.live(gateway))
    await asyncio.sleep(0.01)
    living.cancel()


def test_what_one_learns_of_topics_the_journals_of_others_know(pair: Pair) -> None:
    crew = Crew(pair, JOURNALLING)
    one, other = (gateway.journaling for gateway in crew.gateways)
    assert one is not None
    assert other is not None

    async def scenario() -> None:
        one.journal.known_topics.learn("upstream", "t", 5, {"partitions": "2"})
        await asyncio.sleep(0)

    asyncio.run(scenario())

    assert other.journal.known_topics.get("upstream", "t") == Known(5, {"partitions": "2"})

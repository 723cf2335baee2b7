"""Two tenants with unguessable names and payloads work at full tilt; every byte delivered to each is searched.

Neither may be told anything of the other's (names, records, configs, IDs, members), nor a physical name, the upstream's
address or its cluster ID, nor what stands in the gateway's own topics: the journal, and the state, which has the names
under which both share a topic. The clients reach the gateway through a tap, which keeps the bytes; compressed batches
are searched unpacked as well. BIFROST_TAINT_S sets for how many seconds they work at least, BIFROST_TAINT_ROUNDS how
often each attacker plays all its requests, and BIFROST_TAINT_GIB how much is delivered at least (`make taint`); memory
grows with it, as all is kept until the search. With three brokers one was killed and came back before; with
BIFROST_TAINT_LOSSES=1 (`make three-brokers`) each of them is killed while they work.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import pytest
from taint_admins import confluent_admin, make_topics, python_admin
from taint_attacker import ATTACKER, Sent, attack, attacked_ids, attacked_names, make_loot, make_own
from taint_batches import DECODERS, unpacked
from taint_clients import STREAMS, confluent_large, confluent_transactions
from taint_gateway import (
    BEHIND,
    THIRD,
    OwnTopics,
    ask_unauthenticated,
    records_told,
    share_topics,
    upstream_secrets,
)
from taint_numbers import COUNTS, EPOCHS, grow, numbers_told, raise_epoch
from taint_search import Exposure, Secret, exposures, exposures_of, id_secrets
from taint_secrets import secrets_of
from taint_side import Side
from taint_work import LOSES, LOSSES_S, MAX_SHOWN, Job, Shift, again

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import SERVED
from bifrost.wire.messages import DescribeClusterRequest, MetadataRequest
from support.brokers.broker_loss import BrokerLoss
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of, produce, records_of, topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.clients.tap import HEADER, Connection, Tap, api_keys_of
from support.forgery.forged_requests import Loot
from support.forgery.victim import BusyVictim, Victim
from support.gateways.gateway_process import HOST, IS_SINGLE_ADDRESS, GatewayProcess, TenantSpec, free_ports
from support.moved_topics import MovedTopics
from support.physical_names import MARK, physical_name, prefix_of

WORK_S = float(os.environ.get("BIFROST_TAINT_S", "15"))
WORK_ROUNDS = int(os.environ.get("BIFROST_TAINT_ROUNDS", "1"))
WORK_BYTES = int(float(os.environ.get("BIFROST_TAINT_GIB", "0")) * (1 << 30))
LIMIT_S = 180 + 4 * WORK_S + 300 * WORK_ROUNDS * brokers_under_test() + LOSSES_S + 3 * WORK_BYTES / 1e6
"""More than it takes on a busy machine: a round some minutes, a megabyte a second."""
IN_CALM = (confluent_transactions,)
"""librdkafka 2.16 does not always get over the loss of a coordinator in a transaction, without a gateway as well: it
hangs or is fenced. What Kafka's own clients do in transactions meanwhile is in `test_killed_brokers.py`."""
LEAST_RECORDS, LEAST_BYTES, LEAST_API_KEYS = 5_000, 5_000_000, 40

_log = logging.getLogger(__name__)

pytestmark = [pytest.mark.timeout(LIMIT_S), pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)]


@dataclass
class Party:
    """One tenant with all that the search needs to know of it."""

    side: Side
    victim: Victim
    counts: tuple[int, ...]
    """Partitions that its topic has, one number after the other."""
    epoch: int
    """Of its group, or one that it had."""
    loot: Loot | None = None
    sent: Sent = field(default_factory=Sent)
    records: dict[str, int] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    unpacked: Counter[str] = field(default_factory=Counter)
    """Bytes of records that were searched unpacked, by codec."""

    def secrets(self) -> list[Secret]:
        """What the other must never be told."""
        return [Secret("tenant", self.side.name.encode()), *secrets_of(self.side, self.victim)]


@dataclass
class Recorded:
    """What came of the work."""

    parties: tuple[Party, Party]
    unauthenticated: list[Connection]
    upstream: list[Secret]
    gateway_topics: dict[str, bytes]  # The IDs of the gateway's own, by name.

    def found(self, party: Party, other: Party) -> list[Exposure]:
        """Return every secret that was delivered to a party, compressed or not."""
        assert party.loot is not None
        secrets = [*other.secrets(), *self.upstream]
        names, ids = attacked_names(party.loot), attacked_ids(party.loot)
        found = []
        for connection in party.connections:
            found += exposures_of(connection, secrets, names, ids)
            for codec, records in unpacked(connection):
                party.unpacked[codec] += len(records)
                found += exposures(records, secrets, names)
        return found


def make_party(gateway: GatewayProcess, side: Side, counts: tuple[int, ...], epoch: int) -> Party:
    """Make a tenant's topics, and a victim for the other's attacker, with a record that is a secret too."""
    side.endpoint = gateway.endpoint(side.name)
    make_topics(side)
    victim = Victim(gateway.broker_endpoint(side.name), prefix_of(side.name), partitions=counts[0])
    produce(victim.client, victim.topic, [side.named("record").encode()])
    raise_epoch(gateway.broker_endpoint(side.name), victim, epoch)
    return Party(side, victim, counts, epoch)


def jobs_of(party: Party, gateway: GatewayProcess) -> dict[str, Job]:
    """All that one tenant does at once."""
    assert party.loot is not None
    endpoint = gateway.broker_endpoint(party.side.name)
    own = make_own(party.side, endpoint)
    side = party.side
    streams = (*STREAMS, confluent_large) if WORK_BYTES else STREAMS
    jobs = {work.__name__: partial(work, side) for work in streams}
    begun_anew = {work.__name__: partial(work, side) for work in (confluent_admin, python_admin)}
    begun_anew["grow"] = partial(grow, endpoint, party.victim.topic, party.counts[1:])
    begun_anew["attack"] = partial(attack, endpoint, own, party.loot, party.sent, WORK_ROUNDS)
    return jobs | {name: partial(again, side, job) for name, job in begun_anew.items()}


def work(gateway: GatewayProcess, parties: tuple[Party, Party], tap: Tap, kafka: EmbeddedKafka) -> None:
    """Let both tenants work at once, until enough was done."""
    jobs = {
        (party.side.name, name): job for party in parties for name, job in jobs_of(party, gateway).items()
    }
    in_calm = [(party.side.name, stream.__name__) for party in parties for stream in IN_CALM]
    with Shift(jobs, in_calm) as shift:
        start = time.monotonic()
        # The victims ask without retries: they are over before a broker is lost.
        with BusyVictim(parties[0].victim) as first, BusyVictim(parties[1].victim) as second:
            shift.go_on(lambda: time.monotonic() > start + WORK_S)
        first.check()
        second.check()
        if LOSES:
            shift.lose_each(kafka, [party.side for party in parties])
        shift.go_on(lambda: sum(len(one.received) for one in list(tap.connections)) >= WORK_BYTES)
        _log.info("worked for %.0f s", time.monotonic() - start)
        for (name, job), records in shift.end(LIMIT_S).items():
            party = next(one for one in parties if one.side.name == name)
            party.records[job] = records


@pytest.fixture(scope="module")
def recorded(kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The work, done before a gateway of its own and recorded; what was recorded is only looked at."""
    brokers = brokers_under_test()
    if brokers > 1:
        with BrokerLoss(kafka).without(brokers):
            pass
    with RoutedClient(broker) as client:
        warm_up(client)
        internal_topic_id = topic_id_of(client, "__consumer_offsets")
    sides = Side(), Side()
    tenants = [TenantSpec(side.name, allow_topic_deletion=True) for side in sides]
    own_topics = OwnTopics()
    directory = tmp_path_factory.mktemp("tapped")
    with GatewayProcess(
        directory,
        kafka.bootstrap,
        tenants=[*tenants, TenantSpec(THIRD)],
        bind_host=BEHIND,
        brokers=brokers,
        proxy=own_topics.sections,
    ) as gateway:
        gateway_topics = own_topics.await_ids(broker)
        share_topics(MovedTopics(kafka.bootstrap, own_topics.state, gateway), sides)
        ports = [gateway.bootstrap_port + number for number in range(brokers + 1)]
        users = [side.name for side in sides]
        with Tap(ports, host=HOST, behind=BEHIND, users=users, keeps=ATTACKER) as tap:
            first, second = (make_party(gateway, *one) for one in zip(sides, COUNTS, EPOCHS, strict=True))
            parties = first, second
            for party, other in (parties, parties[::-1]):
                party.loot = make_loot(
                    other.victim,
                    other.side,
                    cluster_id=kafka.cluster_id,
                    internal_topic_id=internal_topic_id,
                    gateway_topics=gateway_topics,
                )
            try:
                work(gateway, parties, tap, kafka)
                for port in ports[:1] if IS_SINGLE_ADDRESS else ports:
                    ask_unauthenticated(Endpoint(HOST, port))
            finally:
                for party in parties:
                    party.victim.close()
    for party in parties:
        party.connections = tap.of(party.side.name)
    return Recorded(parties, tap.of(None), upstream_secrets(kafka, gateway_topics), gateway_topics)


def test_each_tenant_has_read_its_own_records_and_no_others(recorded: Recorded) -> None:
    for party in recorded.parties:
        _log.info("records: %s", party.records)

        assert sum(party.records.values()) > LEAST_RECORDS
        assert all(party.records[stream.__name__] > 0 for stream in STREAMS)


def test_everything_that_a_client_can_ask_was_asked(recorded: Recorded) -> None:
    for party in recorded.parties:
        received = sum(len(one.received) for one in party.connections)
        attacks = [one for one in party.connections if is_attack(one)]
        others = [one for one in party.connections if not is_attack(one)]
        _log.info("bytes: %s", received)
        _log.info("bytes of attacks: %s", sum(len(one.received) for one in attacks))
        _log.info("connections: %s", (len(attacks), len(others)))
        _log.info("API keys: %s", (len(api_keys_of(attacks)), len(api_keys_of(others))))
        _log.info("requests: %s", sum(api_keys_of(party.connections).values()))
        _log.info("attacks: %s", vars(party.sent))

        assert received > LEAST_BYTES
        assert set(SERVED) <= set(api_keys_of(party.connections))
        assert len(api_keys_of(party.connections)) >= LEAST_API_KEYS
        assert party.sent.rounds >= WORK_ROUNDS
    assert sum(len(one.received) for party in recorded.parties for one in party.connections) >= WORK_BYTES


def test_the_state_and_the_journal_have_what_no_tenant_was_told(recorded: Recorded, broker: Endpoint) -> None:
    """Else the search of what was delivered would prove nothing of them."""
    state, journal = (records_told(broker, topic) for topic in recorded.gateway_topics)

    sides = [party.side for party in recorded.parties]
    assert all(one.named("alias").encode() in state and one.name.encode() in journal for one in sides)


def is_attack(connection: Connection) -> bool:
    """Whether a connection is an attacker's."""
    return any(request.client_id == ATTACKER for request in connection.requests)


@pytest.mark.parametrize("place", [0, 1])
def test_no_tenant_was_told_anything_of_the_other_or_of_the_upstream(place: int, recorded: Recorded) -> None:
    party, other = recorded.parties[place], recorded.parties[1 - place]

    found = recorded.found(party, other)

    _log.info("bytes of unpacked records: %s", dict(party.unpacked))
    assert [(one.secret.what, one.around) for one in found[:MAX_SHOWN]] == []
    assert set(party.unpacked) == {name for name, _ in DECODERS.values()}


@pytest.mark.parametrize("place", [0, 1])
def test_search_finds_in_batches_of_every_codec_what_a_tenant_wrote_itself(
    place: int, recorded: Recorded
) -> None:
    party = recorded.parties[place]
    marker = [Secret("marker", party.side.marker.encode())]

    found = {
        codec
        for connection in party.connections
        if any(request.api_key == ApiKey.FETCH for request in connection.requests)
        for codec, records in unpacked(connection)
        if next(exposures(records, marker), None)
    }

    assert found == {name for name, _ in DECODERS.values()}


@pytest.mark.parametrize("place", [0, 1])
def test_no_tenant_was_told_how_large_the_others_topic_is_or_how_old_its_group(
    place: int, recorded: Recorded
) -> None:
    party, other = recorded.parties[place], recorded.parties[1 - place]
    secrets = frozenset({*other.counts, other.epoch})

    found = [line for one in party.connections for line in numbers_told(one, secrets)]

    assert found[:MAX_SHOWN] == []


@pytest.mark.parametrize("place", [0, 1])
def test_search_finds_the_numbers_that_a_tenant_is_told_of_its_own(place: int, recorded: Recorded) -> None:
    party = recorded.parties[place]

    for number in (*party.counts[:2], party.epoch):
        assert any(next(numbers_told(one, frozenset({number})), None) for one in party.connections), number


def test_no_client_was_told_anything_before_authenticating(recorded: Recorded) -> None:
    secrets = [*recorded.upstream, *(secret for party in recorded.parties for secret in party.secrets())]

    found = [
        one for connection in recorded.unauthenticated for one in exposures(connection.received, secrets)
    ]

    heard = sum(bool(connection.received) for connection in recorded.unauthenticated)
    # Those of this test; and those that ended while a client authenticated, for brokers are killed and clients give up.
    assert heard >= (1 if IS_SINGLE_ADDRESS else 1 + brokers_under_test())
    assert found == []


def test_search_finds_every_kind_of_secret_on_a_connection_to_the_broker(
    recorded: Recorded, broker: Endpoint
) -> None:
    """The same tap and the same search, before the broker itself."""
    party, _ = recorded.parties
    topic = physical_name(party.side.name, party.side.own_topics[0])
    with RoutedClient(broker) as client:
        leader = client.at(client.leader_of(MetadataRequest.MetadataRequestTopic(name=topic))).endpoint
    port = free_ports(1)
    with Tap([port], host=BEHIND, behind=HOST, to_port=leader.port) as tap:
        with RawClient(Endpoint(BEHIND, port)) as client:
            client.request(DescribeClusterRequest(), 0)
            metadata_of(client, topic)
            records_of(client, topic)
        (connection,) = tap.connections
    secrets = [*recorded.upstream, *party.secrets()]

    found = {one.secret.what for one in exposures(connection.received, secrets)}

    assert {
        "marker",
        "tenant",
        f"ID of {party.side.own_topics[0]}",
        "a physical prefix",
        "the cluster ID",
        "the upstream's host and port",
    } <= found


@pytest.mark.parametrize("place", [0, 1])
def test_search_finds_any_secret_put_anywhere_into_a_recorded_stream(place: int, recorded: Recorded) -> None:
    party, other = recorded.parties[place], recorded.parties[1 - place]
    assert party.loot is not None
    longest = max(party.connections, key=lambda one: len(one.received))
    start = len(longest.received) // 2
    sample = longest.received[start - 4096 : start + 4096]

    for secret in [*other.secrets(), *recorded.upstream]:
        for cut in (0, 4096, len(sample)):
            stream = sample[:cut] + secret.value + sample[cut:]
            found = list(exposures(stream, [secret], attacked_names(party.loot)))
            assert [one.secret for one in found] == [secret]


def test_an_echo_is_no_secret_but_the_same_bytes_in_another_answer_are() -> None:
    topic_id, name = bytes(range(16)), physical_name("a", "b").encode()
    secrets = [*id_secrets("ID", topic_id), Secret("prefix", MARK.encode())]
    answer, other = (len(topic_id) + 4).to_bytes(4, "big"), bytes([0, 0, 0, 8])
    connection = Connection((), ATTACKER)
    for number in (1, 2):
        head = HEADER.pack(3, 1, number, len(ATTACKER)) + ATTACKER.encode()
        frame = head + (topic_id if number == 1 else b"")
        connection.note_sent(len(frame).to_bytes(4, "big") + frame)
    echo = answer + (1).to_bytes(4, "big") + topic_id
    connection.received += echo + other + (2).to_bytes(4, "big") + bytes(4)
    assert list(exposures_of(connection, secrets, [], [topic_id])) == []

    connection.received += answer + (2).to_bytes(4, "big") + topic_id

    assert len(list(exposures_of(connection, secrets, [], [topic_id]))) == 1
    own_member, others_member = (topic_id + one for one in (b"\x06static\x04raw", b"\x06static\x07victim"))
    connection.received += (len(own_member) + 4).to_bytes(4, "big") + (2).to_bytes(4, "big") + own_member
    assert len(list(exposures_of(connection, secrets, [], [topic_id]))) == 1
    others = (len(others_member) + 4).to_bytes(4, "big") + (2).to_bytes(4, "big") + others_member
    connection.received += others
    assert len(list(exposures_of(connection, secrets, [], [topic_id]))) == 2
    assert list(exposures(b"x" + name + b"y", secrets, [name])) == []
    assert len(list(exposures(b"x" + name[:-1] + b"y", secrets, [name]))) == 1

"""Fetch at a single address: sessions (KIP-227) go on as at a broker, and end with the client's connection."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, FetchRequest
from bifrost.wire.schema import request_schema
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, produce, topic_id_of
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import physical_name

TOPIC = "single-fetches"
PARTITIONS = 6
VERSIONS = [7, 11, 12, 13, 15, max(request_schema(ApiKey.FETCH).versions)]
LONG_MS = 20_000
WAIT_S = 20.0
LARGE = 90_000
"""Bytes of records that the gateway answers with where it has received them."""


@pytest.fixture(scope="module")
def client(gateway: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(gateway.endpoint("initech")) as made:
        create_topic(made, TOPIC, PARTITIONS)
        yield made


def write(client: RawClient, topic: str, partition: int, record: bytes = b"a record") -> None:
    """Write a record, as soon as the leader of a new topic knows that it is that."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            produce(client, topic, [record], partition)
        except AssertionError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


@dataclass
class Consumer:
    """Sends Fetch requests of one version for one topic."""

    client: RawClient
    topic: str
    version: int
    topic_id: bytes = b""
    session_id: int = 0

    def fetch(
        self,
        epoch: int,
        asked: Sequence[tuple[int, int]] = (),
        forgotten: Sequence[int] = (),
        *,
        session_id: int | None = None,
        max_wait_ms: int = 0,
        version: int | None = None,
    ) -> Any:
        """Fetch partitions from offsets, in a session unless `epoch` says otherwise."""
        partitions = [
            FetchRequest.FetchPartition(partition=one, fetch_offset=offset, partition_max_bytes=1 << 20)
            for one, offset in asked
        ]
        names = {"topic": self.topic, "topic_id": self.topic_id}
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=self.session_id if session_id is None else session_id,
            session_epoch=epoch,
            topics=[FetchRequest.FetchTopic(partitions=partitions, **names)] if asked else [],
        )
        if forgotten:
            request.forgotten_topics_data = [FetchRequest.ForgottenTopic(partitions=list(forgotten), **names)]
        answer = self.client.request(request, self.version if version is None else version)
        if epoch == 0:
            self.session_id = answer.session_id
        return answer


def shown(answer: Any) -> tuple[int, bool, list[tuple[int, int, bool, int, int]]]:
    """What an answer says: its error, whether it is of a session, and each partition; their order means nothing."""
    partitions = [
        (
            one.partition_index,
            one.error_code,
            bool(one.records),
            one.high_watermark,
            one.log_start_offset,
        )
        for topic in answer.responses
        for one in topic.partitions
    ]
    return answer.error_code, answer.session_id != 0, sorted(partitions)


@dataclass
class Script:
    """What a consumer does, one step after the other."""

    consumer: Consumer
    answers: list[Any] = field(default_factory=list)

    def step(self, *args: Any, **options: Any) -> None:
        self.answers.append(shown(self.consumer.fetch(*args, **options)))

    def produce(self, partition: int) -> None:
        write(self.consumer.client, self.consumer.topic, partition)


def changes_are_told(script: Script) -> None:
    script.step(0, [(0, 0), (1, 0), (2, 0)])
    script.step(1)
    script.produce(1)
    script.step(2)
    script.step(3, [(1, 1)])
    script.step(4)


def partitions_come_and_go(script: Script) -> None:
    script.step(0, [(0, 0), (1, 0)])
    script.step(1, [(3, 0)], [0])
    script.produce(0)
    script.step(2)
    script.step(3, [(0, 0)])
    script.produce(3)
    script.produce(1)
    script.step(4, [(0, 1)])
    script.step(5, [(1, 1), (3, 1)])
    script.step(6, [], [0, 1, 3])
    script.step(7)


def errors_are_told_again(script: Script) -> None:
    script.step(0, [(0, 0), (77, 0)])
    script.step(1)
    script.step(2, [(1, 5)])
    script.step(3, [(1, 0)], [77])
    script.step(4)


def wrong_ones_are_refused(script: Script) -> None:
    script.step(0, [(0, 0)])
    script.step(2)
    script.step(1)
    script.step(1)
    script.step(2, session_id=script.consumer.session_id ^ 1)
    script.step(2, session_id=0)
    by_id = script.consumer.version >= 13
    script.step(2, version=12 if by_id else 13)
    script.step(2)


def a_session_is_ended(script: Script) -> None:
    script.step(0, [(0, 0)])
    script.step(-1, [(0, 0)])
    script.step(1)
    script.step(0, [(0, 0), (1, 0)])
    script.step(0, [(1, 0)])
    script.step(1)
    script.step(-1)


def very_many_partitions_are_asked_for(script: Script) -> None:
    script.step(0, [(one, 0) for one in range(1500)])
    script.step(1)
    script.produce(1)
    script.step(2, [(1501, 0)])
    script.step(3, [(1, 1)], list(range(10, 1400)))
    script.step(4)


SCRIPTS = [
    changes_are_told,
    partitions_come_and_go,
    errors_are_told_again,
    wrong_ones_are_refused,
    a_session_is_ended,
    very_many_partitions_are_asked_for,
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("run", SCRIPTS, ids=lambda run: run.__name__)
def test_a_session_goes_on_as_at_a_broker(
    run: Callable[[Script], None], version: int, client: RawClient, kafka_cluster: EmbeddedKafka
) -> None:
    assigned = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=n, broker_ids=[1]) for n in range(4)
    ]
    found = []
    at_broker = Endpoint("127.0.0.1", kafka_cluster.broker_port(1))
    with RawClient(at_broker) as direct, RoutedClient(at_broker) as by_controller:
        for way, where in ((direct, "direct"), (client, "single")):
            name = f"{TOPIC}-{run.__name__}-{version}-{where}".replace("_", "-")
            physical = physical_name("initech", name)
            # All at one broker, for only that can be compared.
            create_topic(by_controller, physical, 4, {"min.insync.replicas": "1"}, assigned)
            consumer = Consumer(way, physical if way is direct else name, version)
            consumer.topic_id = topic_id_of(direct, physical)
            script = Script(consumer)
            run(script)
            found.append(script.answers)

    assert found[1] == found[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_one_for_all_leaders(version: int, gateway: GatewayProcess) -> None:
    # Its own connection: behind the long polls of another version the first answer would have nothing to tell.
    with RawClient.authenticated(gateway.endpoint("initech")) as client:
        read_all(client, version)


def read_all(client: RawClient, version: int) -> None:
    """Write to all partitions and read them in a session, three times."""
    name = f"{TOPIC}-all-{version}"
    topic_id = create_topic(client, name, PARTITIONS)
    for partition in range(PARTITIONS):
        write(client, name, partition)  # Its leader knows by now that it is that.
    consumer = Consumer(client, name, version, topic_id)
    first = shown(consumer.fetch(0, [(n, 0) for n in range(PARTITIONS)]))
    read = dict.fromkeys(range(PARTITIONS), 1)
    epoch = 0
    consumer.fetch(epoch := epoch + 1, [(n, 1) for n in range(PARTITIONS)])

    for round_ in range(2, 5):
        for partition in range(PARTITIONS):
            write(client, name, partition)
        asked: list[tuple[int, int]] = []
        while min(read.values()) < round_:
            epoch += 1
            code, is_session, partitions = shown(consumer.fetch(epoch, asked, max_wait_ms=LONG_MS))
            assert (code, is_session) == (ErrorCode.NONE, True)
            assert partitions, "a long poll has something new"
            asked = []
            for partition, error, has_records, high_watermark, _ in partitions:
                assert error == ErrorCode.NONE
                assert high_watermark >= read[partition]
                if has_records:
                    read[partition] = high_watermark
                    asked.append((partition, high_watermark))
        epoch += 1
        consumer.fetch(epoch, asked)
    assert first == (ErrorCode.NONE, True, [(n, 0, True, 1, 0) for n in range(PARTITIONS)])
    assert set(read.values()) == {4}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_session", [True, False], ids=["in a session", "without sessions"])
def test_large_answers_of_all_leaders_come_one_after_the_other(
    gateway: GatewayProcess, version: int, is_session: bool
) -> None:
    with RawClient.authenticated(gateway.endpoint("initech")) as client:
        name = f"{TOPIC}-large-{version}-{is_session}".lower()
        topic_id = create_topic(client, name, PARTITIONS)
        written = {(n, at): secrets.token_bytes(LARGE) for n in range(PARTITIONS) for at in range(2)}
        for (partition, _), record in written.items():
            write(client, name, partition, record)
        consumer = Consumer(client, name, version, topic_id)
        positions, news = dict.fromkeys(range(PARTITIONS), 0), list(range(PARTITIONS))
        epoch, answers = (0 if is_session else -1), 0
        while written:
            asked = [(one, positions[one]) for one in (news if is_session else positions)]
            answer = consumer.fetch(epoch, asked, max_wait_ms=LONG_MS)
            code, has_session, partitions = shown(answer)
            assert (code, has_session) == (ErrorCode.NONE, is_session)
            assert is_session or [one[0] for one in partitions] == list(range(PARTITIONS)), (
                "each is there once"
            )
            news = []
            for topic in answer.responses:
                for one in topic.partitions:
                    assert one.error_code == ErrorCode.NONE
                    partition = one.partition_index
                    if one.records:
                        assert one.high_watermark == 2
                        while (record := written.get((partition, positions[partition]))) is not None:
                            if record not in bytes(one.records):
                                break
                            del written[partition, positions[partition]]
                            positions[partition] += 1
                        news.append(partition)
            answers += 1
            epoch += is_session
        assert answers >= 2


def test_a_session_is_its_connections_own(client: RawClient, gateway: GatewayProcess) -> None:
    consumer = Consumer(client, TOPIC, 12)
    consumer.fetch(0, [(0, 0)])

    with RawClient.authenticated(gateway.endpoint("initech")) as other:
        taken = Consumer(other, TOPIC, 12, session_id=consumer.session_id).fetch(1)

    assert (taken.error_code, taken.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert shown(consumer.fetch(1)) == (ErrorCode.NONE, True, [])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_without_topics_has_an_empty_answer(client: RawClient, version: int) -> None:
    answer = client.request(FetchRequest(max_wait_ms=100, session_epoch=-1, topics=[]), version)

    assert (answer.error_code, answer.session_id, answer.responses) == (ErrorCode.NONE, 0, [])


def test_many_fetches_behind_a_long_poll_are_answered(client: RawClient) -> None:
    # Each is answered at once when the poll ends.
    waiting = Consumer(client, TOPIC, 12)
    requests = [FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[]) for _ in range(90)]
    poll = FetchRequest(
        max_wait_ms=1000,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[
            FetchRequest.FetchTopic(
                topic=waiting.topic,
                partitions=[FetchRequest.FetchPartition(partition=0, partition_max_bytes=1)],
            )
        ],
    )

    numbers = [client.send(one, 12) for one in (poll, *requests)]
    answers = [client.receive(ApiKey.FETCH, 12, one) for one in numbers]

    assert [one.error_code for one in answers] == [ErrorCode.NONE] * 91

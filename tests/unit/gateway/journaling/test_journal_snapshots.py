"""How the sizes of topics are asked for; real brokers answer in tests/kafka/operations/test_journal.py."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.journaling import journal_snapshots
from bifrost.gateway.journaling.journal_snapshots import JournalSnapshots
from bifrost.journal.topic_sizes import TopicSizes
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import broker_versions


class Brokers:
    """Two brokers, each of which has a replica of every partition; stands for the class BrokerClient as well."""

    security = object()

    def __init__(self, pages: Sequence[Any], *, has_pages: bool = True) -> None:
        answer = broker_versions()
        if not has_pages:
            answer.api_keys = [
                one for one in answer.api_keys if one.api_key != ApiKey.DESCRIBE_TOPIC_PARTITIONS
            ]
        offered = offered_versions(answer)
        self.brokers = {number: Broker(number, f"kafka-{number}", 9092, offered) for number in (1, 2)}
        self.pages = list(pages)
        self.cursors: list[tuple[str, int] | None] = []
        self.weighed: list[tuple[str, dict[str, list[int]]]] = []
        self.silent: set[str] = set()
        self.open = 0

    def any_broker(self) -> Broker | None:
        return next(iter(self.brokers.values()), None)

    def broker(self, node_id: int) -> Broker | None:
        return self.brokers.get(node_id)

    def __call__(self, host: str, port: int, *, timeout_ms: int, security: Any) -> "Client":
        self.open += 1
        return Client(self, host)


class Client:
    def __init__(self, brokers: Brokers, host: str) -> None:
        self.brokers, self.host = brokers, host

    async def request(self, message: Any, version: int) -> Any:
        brokers = self.brokers
        if message.SCHEMA.name == "DescribeLogDirsRequest":
            if self.host in brokers.silent:
                raise BrokerError(f"{self.host}:9092: connection refused")
            asked = {one.topic: list(one.partitions) for one in message.topics}
            brokers.weighed.append((self.host, asked))
            return log_dirs(asked)
        if message.SCHEMA.name == "DescribeTopicPartitionsRequest":
            cursor = message.cursor
            brokers.cursors.append(cursor and (cursor.topic_name, cursor.partition_index))
        return brokers.pages.pop(0)

    async def close(self) -> None:
        self.brokers.open -= 1


def log_dirs(asked: dict[str, list[int]]) -> Any:
    """Each partition has 10 bytes more than the one before, and is being copied to another disk."""
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": index, "partition_size": 100 + 10 * index, "is_future_key": is_copy}
                for index in partitions
                for is_copy in (False, True)
            ],
        }
        for name, partitions in asked.items()
    ]
    broken = {"error_code": ErrorCode.KAFKA_STORAGE_ERROR}
    return messages.build("DescribeLogDirsResponse", {"results": [broken, {"topics": topics}]})


def described(name: str, *partitions: int, error_code: int = 0) -> dict[str, Any]:
    found = [{"partition_index": one, "leader_id": 1, "replica_nodes": [1, 2]} for one in partitions]
    return {"name": name, "error_code": error_code, "partitions": found}


def page(*topics: dict[str, Any], following: tuple[str, int] | None = None) -> Any:
    cursor = following and {"topic_name": following[0], "partition_index": following[1]}
    return messages.build("DescribeTopicPartitionsResponse", {"topics": list(topics), "next_cursor": cursor})


def looked(monkeypatch: pytest.MonkeyPatch, brokers: Brokers) -> list[list[TopicSizes]]:
    """Return the pages of topics that begin with `a`."""
    monkeypatch.setattr(journal_snapshots, "BrokerClient", brokers)
    cluster: Any = brokers

    async def look() -> list[list[TopicSizes]]:
        snapshots = JournalSnapshots(cluster, 500)
        return [list(topics) async for topics in snapshots.take(lambda name: name.startswith("a"))]

    return asyncio.run(look())


def sizes(pages: list[list[TopicSizes]]) -> list[list[tuple[str, dict[int, dict[int, int | None]]]]]:
    """The sizes by topic, partition and node."""
    return [
        [(topic.name, {at: dict(one.sizes) for at, one in topic.partitions.items()}) for topic in topics]
        for topics in pages
    ]


def test_wanted_topics_have_the_sizes_of_all_their_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers([page(described("a", 0, 1), described("b", 0))])

    found = sizes(looked(monkeypatch, brokers))

    assert found == [[("a", {0: {1: 100, 2: 100}, 1: {1: 110, 2: 110}})]]
    assert sorted(brokers.weighed) == [("kafka-1", {"a": [0, 1]}), ("kafka-2", {"a": [0, 1]})]
    assert brokers.open == 0


def test_a_topic_on_several_pages_is_told_once_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(
        [
            page(described("a1", 0), described("a2", 0, 1), following=("a2", 2)),
            page(described("a2", 2), following=("a2", 3)),
            page(described("a2", 3), described("a3", 0)),
        ]
    )

    found = sizes(looked(monkeypatch, brokers))

    assert [[(name, sorted(of)) for name, of in topics] for topics in found] == [
        [("a1", [0])],
        [("a2", [0, 1, 2, 3]), ("a3", [0])],
    ]
    assert brokers.cursors == [None, ("a2", 2), ("a2", 3)]


def test_a_topic_that_ends_with_its_page_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers([page(described("a1", 0), following=("a1", 1)), page(described("a2", 0))])

    found = sizes(looked(monkeypatch, brokers))

    assert [name for topics in found for name, _ in topics] == ["a1", "a2"]


def test_topics_with_an_error_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers([page(described("a", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))])

    assert looked(monkeypatch, brokers) == []


def test_what_a_broker_does_not_tell_stays_unknown(
    monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    brokers = Brokers([page(described("a", 0))])
    brokers.silent.add("kafka-2")

    assert sizes(looked(monkeypatch, brokers)) == [[("a", {0: {1: 100, 2: None}})]]
    assert [(line["event"], line["node_id"]) for line in logged] == [("journal_sizes_unknown", 2)]


def test_brokers_without_pages_are_asked_for_all_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_snapshots, "PAGE_PARTITIONS", 2)
    answer = messages.build(
        "MetadataResponse", {"topics": [described(name, 0) for name in ("a1", "a2", "a3", "b")]}
    )
    brokers = Brokers([answer], has_pages=False)

    found = sizes(looked(monkeypatch, brokers))

    assert [[name for name, _ in topics] for topics in found] == [["a1", "a2"], ["a3"]]
    assert brokers.cursors == []


def test_without_a_broker_there_is_no_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers([])
    brokers.brokers = {}

    with pytest.raises(BrokerError, match="no broker is known"):
        looked(monkeypatch, brokers)


@pytest.mark.parametrize("cost_s", [0.05, 0.5])
@pytest.mark.parametrize("has_pages", [True, False])
def test_brokers_have_a_pause_behind_each_page_as_long_as_it_demands(
    monkeypatch: pytest.MonkeyPatch, has_pages: bool, cost_s: float
) -> None:
    """A snapshot of very many topics would else keep a broker busy for as long as it takes."""
    monkeypatch.setattr(journal_snapshots, "PAGE_PARTITIONS", 1)
    names = ("aa", "ab", "ac")
    if has_pages:
        pages = [
            page(described("aa", 0), following=("ab", 0)),
            page(described("ab", 0), following=("ac", 0)),
            page(described("ac", 0)),
        ]
    else:
        topics = [described(name, 0) for name in names]
        pages = [messages.build("MetadataResponse", {"topics": topics})]
    brokers, now_s = Brokers(pages, has_pages=has_pages), [100.0]
    pauses: list[float] = []
    request = Client.request

    async def slow(client: Client, message: Any, version: int) -> Any:
        now_s[0] += cost_s if client.host == "kafka-1" else 0.0
        return await request(client, message, version)

    async def sleep(delay_s: float) -> None:
        pauses.append(delay_s)
        now_s[0] += delay_s

    monkeypatch.setattr(Client, "request", slow)
    monkeypatch.setattr(journal_snapshots.asyncio, "sleep", sleep)
    loop = asyncio.SelectorEventLoop
    monkeypatch.setattr(loop, "time", lambda _: now_s[0])

    found = looked(monkeypatch, brokers)

    assert [one.name for topics in found for one in topics] == list(names)
    # A page costs as much to list as to weigh; the list of older brokers comes at once.
    wanted = [18 * cost_s, 18 * cost_s if has_pages else 9 * cost_s]
    assert pauses == pytest.approx([min(one, 2.0) for one in wanted])

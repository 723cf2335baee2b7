"""What the writer does with what brokers answer; real ones it meets in tests/kafka/filters/test_quarantine.py."""

import asyncio
from typing import Any, cast

import pytest

from bifrost.gateway.errors import BrokerError, RecordsRefused
from bifrost.gateway.producing import batch_writer
from bifrost.gateway.producing.batch_writer import BatchWriter
from bifrost.gateway.producing.upstream_topic import TopicMissing
from bifrost.wire.error_codes import ErrorCode
from support.brokers.upstream_topics import Answer, FakeTopic


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> FakeTopic:
    found = FakeTopic(partitions=4)
    monkeypatch.setattr(batch_writer, "UpstreamTopic", lambda *_: found)
    return found


BATCH = bytes(57) + (2).to_bytes(4, "big") + bytes.fromhex("1f8b0800000000000003030000000000000000 00")
"""A header that counts two records, and an empty section in gzip."""


def write(partition: int = 6) -> None:
    asyncio.run(BatchWriter(cast("Any", object()), "bad", "quarantine_topic").write(BATCH, partition))


def test_a_batch_goes_to_the_partition_of_its_number(topic: FakeTopic) -> None:
    write()
    write(3)

    assert [(one[0], one[3]) for one in topic.batches] == [(2, 2), (3, 2)]


@pytest.mark.parametrize("answer", [ErrorCode.NOT_LEADER_OR_FOLLOWER, BrokerError("gone")])
def test_errors_that_may_pass_are_tried_once_more(topic: FakeTopic, answer: Answer) -> None:
    topic.answers.append(answer)
    write()

    topic.answers.extend([answer, answer])
    with pytest.raises(BrokerError):
        write()


@pytest.mark.parametrize("code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD])
def test_what_a_topic_never_takes_is_not_tried_again(topic: FakeTopic, code: ErrorCode) -> None:
    topic.answers.extend([code, ErrorCode.NONE])

    with pytest.raises(RecordsRefused, match=code.name):
        write()
    assert len(topic.answers) == 1


def test_a_topic_that_is_missing_is_not_created(topic: FakeTopic) -> None:
    topic.missing = 1

    with pytest.raises(TopicMissing):
        write()


def test_a_partition_without_a_leader_is_an_error(topic: FakeTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find() -> None:
        topic.leaders = {}

    monkeypatch.setattr(topic, "find", find)

    with pytest.raises(BrokerError, match="partition 2 has no leader"):
        write()

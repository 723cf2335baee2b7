"""What does not exist is answered by the gateway, in its turn among other answers."""

import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.wire.error_codes import ErrorCode

from .routed import NODES, PARTITIONS, RoutedLine, played

FIRST = NODES[0]


def test_what_does_not_exist_is_answered_without_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        beyond = PARTITIONS
        line.send(line.list_offsets(beyond), line.list_offsets(0, beyond), line.produce(beyond))
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 5)

        there_is_none = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert line.listed_codes(3) == [there_is_none]
        assert line.listed_codes(4) == [ErrorCode.NONE, there_is_none]
        assert line.codes(5) == [there_is_none]
        assert [number for number, _ in line.answers] == list(range(1, 6))

    line = played(scenario, monkeypatch)
    assert not line.client.is_closed
    assert line.cluster.asked_about.asked == 0


def test_a_record_without_an_answer_that_goes_nowhere_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As at a broker: the client connects again, asks for the metadata, and knows."""

    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0, PARTITIONS, acks=0))
        await line.finish(lambda: line.brokers[FIRST].seen == [(0, 1), (0, 3)])
        assert line.client.is_closed

    assert played(scenario, monkeypatch).gateway.ends == {CloseReason.BROKER_CLOSED: 1}

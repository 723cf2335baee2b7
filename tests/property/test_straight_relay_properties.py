"""Whatever a client at a single address sends, and however its brokers come, log in, fail and answer: each request has
one answer, in the order of the requests, and each broker gets the records of a partition in the order of the requests.
"""

import asyncio
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.gateway.routing.router import Router
from unit.gateway.routing.routed import NODES, PARTITIONS, RoutedLine

Step = tuple[Any, ...]

PARTITION = st.integers(0, PARTITIONS - 1)
REQUEST = st.one_of(
    st.tuples(st.just("straight"), PARTITION, st.sampled_from((0, 0, 3_000, 20_000))),
    st.tuples(st.just("split"), st.sampled_from(((0, 1), (0, 1, 2, 3), (3, 2)))),
    st.tuples(st.just("looked up"), PARTITION),
    st.tuples(st.just("list offsets"), PARTITION),
    st.tuples(st.just("heartbeat")),
    st.tuples(st.just("empty fetch")),
    st.tuples(st.just("unanswered"), PARTITION),
)
NODE = st.sampled_from(NODES)
STEP = st.one_of(
    st.tuples(st.just("send"), st.lists(REQUEST, min_size=1, max_size=12)),
    st.tuples(st.just("many"), PARTITION, st.integers(1, 90)),
    st.tuples(st.just("read"), NODE, st.sampled_from((100, 5_000, 1 << 20))),
    st.tuples(st.just("answer"), NODE, st.integers(1, 8), st.sampled_from((0, 0, 0, 6, 3))),
    st.tuples(st.just("turns"), st.integers(1, 5)),
    st.tuples(st.just("connect"), NODE),
    st.tuples(st.just("login due"), NODE),
    st.tuples(st.just("log in"), NODE),
    st.tuples(st.just("look up")),
    st.tuples(st.just("forget"), st.sampled_from(("orders", "billing"))),
    st.tuples(st.just("lose"), NODE),
    st.tuples(st.just("is full")),
    st.tuples(st.just("reads")),
)
BROKER_STEPS = {"read", "answer", "connect", "log in", "login due", "lose"}


class Play:
    """Does the steps, and knows what has to come of them."""

    def __init__(self, line: RoutedLine, has_unanswered: bool) -> None:
        self.line, self.has_unanswered = line, has_unanswered
        self.awaited: list[int] = []
        self.sent: dict[int, list[int]] = defaultdict(list)
        """Numbers of the requests with records for a partition, as `PlayedBroker.seen` counts partitions."""
        self.lost = False

    async def do(self, step: Step) -> None:
        match step:
            case "turns", count:
                await self.line.turns(count)
            case ("look up",):
                self.line.cluster.asked_about.may_answer.set()
                await self.line.turns(3)
                self.line.cluster.asked_about.may_answer.clear()
            case name, node, *values if node in NODES and name in BROKER_STEPS:
                self.let_broker(name, node, *values)
            case _:
                self.let_client(step)
        self.line.take_answers()

    def let_client(self, step: Step) -> None:
        line = self.line
        match step:
            case "send", requests:
                line.send(*(self.request(*one) for one in requests))
            case "many", partition, count:
                line.send(*(self.request("straight", partition, 0) for _ in range(count)))
            case "forget", topic:
                line.forget(topic)
            case ("is full",):
                line.client.is_full = True
            case ("reads",):
                line.client.is_full = False
                line.client.protocol.resume_writing()
            case _:
                raise AssertionError(step)

    def let_broker(self, name: str, node: int, *values: Any) -> None:
        broker = self.line.brokers[node]
        match name:
            case "read":
                broker.read(*values)
            case "answer":
                broker.answer(*values)
            case "connect":
                broker.may_connect.set()
            case "log in":
                broker.may_log_in.set()
            case "login due":
                self.let_login_end(node)
            case "lose" if not self.has_unanswered:
                self.lost = self.lost or broker.socket is not None
                broker.close()

    def request(self, kind: str, *values: Any) -> bytes:
        line, number = self.line, self.line.next_number()
        if kind == "unanswered" and not self.has_unanswered:
            kind, values = "straight", (*values, 0)
        if kind != "unanswered":
            self.awaited.append(number)
        if kind == "list offsets":
            return line.list_offsets(values[0], number=number)
        if kind == "heartbeat":
            return line.heartbeat(number=number)
        if kind == "empty fetch":
            return line.empty_fetch(number=number)
        topic = "billing" if kind == "looked up" else "orders"
        partitions = values[0] if kind == "split" else values[:1]
        for one in partitions:
            self.sent[one + (PARTITIONS if topic == "billing" else 0)].append(number)
        size = values[1] if kind == "straight" else 0
        acks = 0 if kind == "unanswered" else 1
        return line.produce(*partitions, topic=topic, acks=acks, size=size, number=number)

    def let_login_end(self, node: int) -> None:
        side = self.line.connection._broker_side
        link = None if side is None else self.line.link(node)
        if link is not None and link.connection is not None and link.task is None:
            self.line.brokers[node].may_log_in.clear()
            link.connection.is_login_due = True
            link.broker_login_due()

    async def finish(self) -> None:
        line = self.line
        line.client.is_full = False
        line.client.protocol.resume_writing()

        def is_done() -> bool:
            line.take_answers()
            seen = sum(len(one.seen) + len(one.refused) for one in line.brokers.values())
            is_all = self.lost or seen == sum(map(len, self.sent.values()))
            return not line.unread and len(line.answers) >= len(self.awaited) and is_all

        await line.finish(is_done)

    def check(self) -> None:
        line = self.line
        assert not line.connection.has_ended
        assert [number for number, _ in line.answers] == self.awaited
        for partition, sent in self.sent.items():
            seen = [
                number for one in line.brokers.values() for place, number in one.seen if place == partition
            ]
            assert len(set(seen)) == len(seen), "a record was doubled"
            assert seen == [number for number in sent if number in set(seen)], "records were reordered"
            refused = {
                number for one in line.brokers.values() for place, number in one.refused if place == partition
            }
            assert self.lost or {*seen, *refused} == {*sent}, "a record was lost"
        side = line.connection._broker_side
        assert not isinstance(side, Router) or not (side.turns or side.held or side.fresh)


@settings(max_examples=150)
@given(
    st.lists(STEP, min_size=3, max_size=40), st.booleans(), st.booleans(), st.sampled_from((2, 5, 100, 1000))
)
def test_answers_and_records_keep_their_order(
    steps: list[Step], is_begun: bool, has_unanswered: bool, most: int
) -> None:
    async def play(monkeypatch: pytest.MonkeyPatch) -> None:
        line = RoutedLine(monkeypatch, most)
        found = Play(line, has_unanswered)
        if is_begun:  # Otherwise the brokers are reached later.
            line.let_connect()
            await found.do(("send", [("straight", 0, 0), ("straight", 1, 0)]))
            await line.turns(20)
        for step in steps:
            await found.do(step)
        await found.finish()
        found.check()

    with pytest.MonkeyPatch.context() as monkeypatch:
        asyncio.run(play(monkeypatch))

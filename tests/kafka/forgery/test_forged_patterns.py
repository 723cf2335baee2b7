"""Patterns that the broker matches with all tenants' names find the sender's own things, however they are written.

What each finds is what it finds on a cluster of one's own: the sender's topics that Python's `re` finds by it.
"""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ConsumerGroupHeartbeatRequest, ListTransactionsRequest, MetadataRequest
from support.forgery.attackers import ATTACKERS, Attack
from support.forgery.forged_requests import Loot, Own, fresh_group
from support.forgery.probe import Prober
from support.forgery.victim import BusyVictim, uuid_text
from support.physical_names import MARK, physical_name, prefix_of

ESCAPES = [
    ".*",
    ".+",
    "^.*$",
    "(?s).*",
    "(?m)^.*$",
    "(?U).*",
    r"[\s\S]*",
    r"\A.*\z",
    ".{0,249}",
    "|.*",
    ".*|",
    "$|.*",
    "^|.*",
    "(|.*)",
    r"\b.*",
    r"\B.*|.*",
    r"\Q\E|.*",
    "(?:(?:(?:.*)))",
    "(?i)ORDERS|.*zebra.*",
    f"{MARK}.*",
    physical_name("globex", ".*"),
    physical_name("globex", "zebra-TAG"),
    "(?i)__VT_GLOBEX_.*",
    f".*|{prefix_of('globex')}.*",
    f"orders|{physical_name('globex', 'zebra-TAG')}",
    "zebra-.*",
    ".*zebra.*",
    "[^a]*zebra[^a]*",
    "_consumer_offsets|__consumer_offsets|__.*",
    r"orders\Q|.*\E|.*zebra.*",
    "(?P<bifrost_2e2a>.*)",
    "orders)(?:",
]
REFUSED_BY_RE2 = [
    ")|(.*",
    "orders)|(?:.*",
    "(",
    r"\E.*",
    "(?=.*)",
    "(?<!x).*",
    "(?!orders).*",
    r"(.*)\1",
    ".*+",
    "(?>.*)",
    "[",
    "a{1001}",
]
SETTLED_S = 2.5
"""A broker resolves a pattern in the background, at a heartbeat, and assigns at a later one."""


def own_topics(prober: Prober) -> dict[bytes, str]:
    """Return the sender's topics by their IDs."""
    topics = prober.client().request(MetadataRequest(topics=None), 12).topics
    return {topic.topic_id: topic.name for topic in topics}


class WorkerPeers:
    """A member that subscribes by a pattern."""

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self.group_id, self.member_id = fresh_group(), uuid_text()
        self.epoch = 0
        self.assigned: set[bytes] = set()

    def beat(self, prober: Prober) -> Any:
        """Heartbeat once; whatever was ever assigned is remembered."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch
        )
        if self.epoch == 0:
            request.rebalance_timeout_ms, request.topic_partitions = 30_000, []
            request.subscribed_topic_regex = self.regex
        answer = prober.connections.request(request, 1)
        if answer.error_code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            for topic in [] if answer.assignment is None else answer.assignment.topic_partitions:
                self.assigned.add(topic.topic_id)
        return answer


@pytest.mark.parametrize("tenant", ATTACKERS)
def test_patterns_find_own_topics_only(
    tenant: str, attack: Attack, loot: Loot, own: dict[str, Own], victim: BusyVictim
) -> None:
    prober = attack(tenant)
    members = [WorkerPeers(regex.replace("TAG", victim.victim.tag)) for regex in ESCAPES]
    topics = own_topics(prober)
    wanted = {
        one.regex: {name for name in topics.values() if re.fullmatch(_in_python(one.regex), name)}
        for one in members
        if _in_python(one.regex)
    }

    deadline = time.monotonic() + SETTLED_S * 8
    settled = time.monotonic() + SETTLED_S
    while time.monotonic() < settled or (
        time.monotonic() < deadline
        and any(_names(one, topics) != wanted[one.regex] for one in members if one.regex in wanted)
    ):
        for member in members:
            member.beat(prober)
        time.sleep(0.1)

    assert {one.regex: _names(one, topics) for one in members if one.regex in wanted} == wanted
    for member in members:
        assert member.assigned <= topics.keys()
        assert victim.victim.topic_id not in member.assigned
    victim.check()


def _in_python(regex: str) -> str:
    """The same for Python's `re`, as far as the syntax differs."""
    if regex == "orders)(?:":
        return ""
    quoted = re.sub(r"\\Q(.*?)\\E", lambda match: re.escape(match[1]), regex)
    return quoted.replace(r"\z", r"\Z").replace("(?U)", "")


def _names(member: WorkerPeers, topics: dict[bytes, str]) -> set[str]:
    return {topics.get(topic_id, topic_id.hex()) for topic_id in member.assigned}


@pytest.mark.parametrize("regex", REFUSED_BY_RE2)
def test_pattern_that_does_not_compile_is_refused(regex: str, attack: Attack, victim: BusyVictim) -> None:
    answer = WorkerPeers(regex).beat(attack("initech"))

    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert MARK not in (answer.error_message or "")
    victim.check()


@pytest.mark.parametrize("tenant", ATTACKERS)
def test_patterns_list_own_transactions_only(
    tenant: str, attack: Attack, own: dict[str, Own], victim: BusyVictim
) -> None:
    connections = attack(tenant).connections
    listed: dict[str, set[str]] = {}

    def ask(request: ListTransactionsRequest, version: int) -> list[Any]:
        """Each broker lists those that it coordinates."""
        return [connections.at(node_id).request(request, version) for node_id in connections.nodes]

    for regex in ESCAPES:
        pattern = regex.replace("TAG", victim.victim.tag)
        answers = ask(ListTransactionsRequest(transactional_id_pattern=pattern), 2)
        if {answer.error_code for answer in answers} == {ErrorCode.NONE}:
            listed[regex] = {one.transactional_id for answer in answers for one in answer.transaction_states}
        else:
            assert {answer.error_code for answer in answers} == {ErrorCode.INVALID_REGULAR_EXPRESSION}
    states = [one for answer in ask(ListTransactionsRequest(), 1) for one in answer.transaction_states]
    everything = {one.transactional_id for one in states}

    assert "own-transaction" in listed[".*"]
    assert listed[".*"] == everything
    assert all(found <= everything for found in listed.values())
    assert victim.victim.producer_id not in {one.producer_id for one in states}
    by_producer = ListTransactionsRequest(producer_id_filters=[victim.victim.producer_id])
    assert all(answer.transaction_states == [] for answer in ask(by_producer, 1))

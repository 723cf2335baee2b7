"""A question to all brokers is one to those of this moment: a broker that was away has groups that no other has."""

import pytest

from bifrost.gateway.brokers.cluster import FRESH_MS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name

from .routed import LIST_GROUPS, NODES, RoutedLine, played

FIRST, SECOND = NODES
BOTH = {"group-1", "group-2"}


async def listed(line: RoutedLine) -> set[str]:
    """Ask for the groups; return those that are answered, without an error."""
    number = line.sent_numbers + 1
    line.send(line.list_groups())
    await line.finish(lambda: number in line.take_answers())
    return groups_of(line, number)


def groups_of(line: RoutedLine, number: int) -> set[str]:
    answer = line.answer_to(number, ApiKey.LIST_GROUPS, LIST_GROUPS)
    assert answer.error_code == ErrorCode.NONE
    return {one.group_id for one in answer.groups}


def spread_groups(line: RoutedLine) -> None:
    """Let each broker coordinate a group."""
    for node_id in NODES:
        line.brokers[node_id].groups = [physical_name("acme", f"group-{node_id}")]


def test_a_broker_that_comes_back_is_asked_as_soon_as_the_list_is_a_second_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        spread_groups(line)
        cluster = line.cluster
        cluster.node_ids = frozenset({FIRST})
        assert await listed(line) == {"group-1"}

        async def find_both() -> None:
            cluster.node_ids = frozenset(NODES)

        monkeypatch.setattr(cluster.fresh, "_work", find_both)
        cluster.known_ms += FRESH_MS - 1
        assert await listed(line) == {"group-1"}

        cluster.known_ms += 1
        assert await listed(line) == BOTH

    played(scenario, monkeypatch)


def test_a_broker_that_the_metadata_names_and_that_is_not_reached_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        spread_groups(line)
        line.router.links[SECOND].close()
        line.router.links.pop(SECOND)
        line.brokers[SECOND].is_away = True
        line.cluster.node_ids, line.cluster.unreachable = frozenset({FIRST}), frozenset({SECOND})

        line.send(line.list_groups())
        await line.finish(lambda: 3 in line.take_answers())

        answer = line.answer_to(3, ApiKey.LIST_GROUPS, LIST_GROUPS)
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert [one.group_id for one in answer.groups] == ["group-1"]

    played(scenario, monkeypatch)


def test_requests_behind_one_that_waits_for_the_list_are_sent_and_all_answers_keep_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        spread_groups(line)
        line.cluster.may_refresh.clear()
        line.send(line.list_groups(), line.produce(0), line.list_groups(), line.heartbeat())
        await line.turns()
        line.brokers[FIRST].read()
        assert [one.key for one in line.brokers[FIRST].pending] == [ApiKey.PRODUCE, ApiKey.HEARTBEAT]
        line.brokers[FIRST].answer()
        await line.turns()
        assert line.take_answers() == []

        line.cluster.may_refresh.set()
        await line.finish(lambda: bool(line.take_answers()) and len(line.answers) == 6)

        assert [number for number, _ in line.answers] == [1, 2, 3, 4, 5, 6]
        assert groups_of(line, 3) == groups_of(line, 5) == BOTH
        assert line.cluster.refreshes == 1

    assert not played(scenario, monkeypatch).client.is_closed


def test_a_client_that_goes_while_the_list_is_refreshed_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        router = line.router
        line.cluster.may_refresh.clear()
        line.send(line.list_groups())
        await line.turns()
        line.connection.connection_lost(None)
        await line.turns()
        assert not router._side_tasks

        line.cluster.may_refresh.set()
        await line.turns()
        assert line.cluster.fresh.is_recent
        assert all(not one.pending for one in line.brokers.values())

    played(scenario, monkeypatch)

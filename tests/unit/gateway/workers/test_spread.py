"""Whom a new connection is given to."""

from collections import Counter

from bifrost.gateway.workers.spread import WorkerLoad, choose


def give(loads: list[WorkerLoad], port: object) -> int:
    index = choose(loads, port)
    loads[index].give(port)
    return index


def test_without_any_load_connections_are_spread_evenly() -> None:
    loads = [WorkerLoad() for _ in range(3)]

    assert Counter(give(loads, 1) for _ in range(30)) == {0: 10, 1: 10, 2: 10}


def test_those_of_each_port_are_spread_evenly() -> None:
    """A client connects to the bootstrap port first, then to a broker: all the work must not meet in one."""
    loads = [WorkerLoad() for _ in range(2)]
    went: dict[str, list[int]] = {"bootstrap": [], "broker": []}
    now_s = 0.0
    for _ in range(8):
        for port, where in went.items():
            where.append(give(loads, port))
            now_s += 5
            for one in loads:
                one.look(0, now_s)

    assert {port: where.count(0) for port, where in went.items()} == {"bootstrap": 4, "broker": 4}


def test_who_is_busy_is_given_less() -> None:
    loads = [WorkerLoad() for _ in range(2)]
    for second in range(4):
        loads[0].look(second * 0.9, second)
        loads[1].look(second * 0.1, second)

    assert [give(loads, 1) for _ in range(8)] == [1] * 8
    assert loads[0].busy > 0.7
    assert loads[1].busy < 0.1


def test_what_was_given_counts_until_it_shows() -> None:
    load = WorkerLoad()
    load.look(0, 0)
    for _ in range(4):
        load.give(1)
    before = load.expected

    load.look(0, 1)

    assert before == 0.2
    assert load.expected == 0.1


def test_a_clock_that_stands_still_tells_nothing() -> None:
    load = WorkerLoad()
    load.look(1, 1)
    load.look(2, 1)

    assert load.busy == 0

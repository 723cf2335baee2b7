from typing import Any

import pytest

from bifrost.filters.steps import OthersPoll
from bifrost.filters.virtual.sharing.shared_fetches import (
    MAX_BYTES,
    MAX_ROOM_NS,
    MAX_ROUNDS,
    MOMENT_NS,
    ROOM_NS,
)
from bifrost.tenancy.recent_records.recent_limits import FRESH_NS
from bifrost.tenancy.recent_records.recent_partition import LATE_NS
from bifrost.tenancy.recent_records.recent_records import OVERHEAD_BYTES, RecentRecords
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from unit.filters.virtual.sharing.fetches import LOG, MS, NOW, VERSION, answered, asked, fetch, met, need_of
from unit.filters.virtual.test_fetched_partitions import ORDERS, own, told

TWO = [(0, 0), (1, 0)]
"""Both physical partitions from the start."""


def two(number: int = 0, **fields: Any) -> Any:
    """Return the Fetch of a connection for its part of physical partition 0, and for partition 1."""
    return asked(("orders", [(2 * number, 0), (1, 0)]), **fields)


def test_the_broker_is_asked_for_no_more_than_is_kept(books: list[Playbook]) -> None:
    request, expected = fetch(0, max_bytes=2**30), asked((ORDERS, [(0, 0)]), max_bytes=MAX_BYTES)
    assert books[0] >> client_sends(request, VERSION) << to_broker(expected)
    assert answered(books[0])
    most = MAX_BYTES + 1
    request = fetch(5, 1, max_bytes=2**30, min_bytes=most)
    expected = asked((ORDERS, [(0, 5)]), max_bytes=most, min_bytes=most)

    assert books[1] >> client_sends(request, VERSION) << to_broker(expected)


def test_who_is_alone_is_sent_what_it_asks_for(books: list[Playbook]) -> None:
    """But not at once: others may be about to begin."""
    request, alone = fetch(50, 1, max_bytes=2**30), asked((ORDERS, [(0, 50)]), max_bytes=2**30)
    NOW[0] += FRESH_NS - 1
    expected = asked((ORDERS, [(0, 50)]), max_bytes=MAX_BYTES)
    assert books[1] >> client_sends(request, VERSION) << to_broker(expected)
    assert (
        books[1]
        >> broker_answers(told((ORDERS, {0: b""}), ends={0: 50}))
        << to_client(told(("orders", {2: b""}), ends={2: 50}))
    )

    NOW[0] += 1
    assert books[1] >> client_sends(request, VERSION) << to_broker(alone)


def test_the_broker_is_asked_first_for_what_was_not_read_for_the_longest(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(two(), VERSION) << to_broker(asked((ORDERS, TWO)))
    shown = told(("orders", {0: own(LOG, 0, 0), 1: b""}), ends={1: 9})
    assert books[0] >> broker_answers(told((ORDERS, {0: LOG, 1: b""}))) << to_client(shown)

    request, expected = asked(("orders", [(2, 5), (1, 0)])), asked((ORDERS, [(1, 0), (0, 5)]))
    assert books[1] >> client_sends(request, VERSION) << to_broker(expected)


def test_what_is_coming_is_not_asked_for_again(books: list[Playbook]) -> None:
    """The broker has records of the other partition, so it does not wait."""
    assert books[0] >> client_sends(two(), VERSION) << to_broker(asked((ORDERS, TWO)))
    shown = told(("orders", {0: b"", 1: b""}), ends={0: 9, 1: 9})
    assert books[0] >> broker_answers(told((ORDERS, {0: b"", 1: b""}))) << to_client(shown)
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))

    expected = asked((ORDERS, [(1, 0)]), max_wait_ms=0, min_bytes=0)
    assert books[1] >> client_sends(two(1), VERSION) << to_broker(expected)
    shown = told(("orders", {1: own(LOG, 0, 0), 2: b""}), ends={1: 9, 2: 9})
    shown.responses[0].partitions[1].aborted_transactions = None
    assert books[1] >> broker_answers(told((ORDERS, {1: LOG}))) << to_client(shown)


def test_what_comes_in_a_moment_is_waited_for_when_the_rest_is_at_its_end(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(two(), VERSION) << to_broker(asked((ORDERS, TWO)))
    answer = told((ORDERS, {0: b"", 1: b""}), ends={1: 0})
    assert books[0] >> broker_answers(answer) << to_client(told(("orders", {0: b"", 1: b""}), ends={1: 0}))
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))

    assert books[1] >> client_sends(two(1), VERSION)
    need = need_of(books[1])
    assert (need.until_ns, need.due_ns) == (NOW[0] + MOMENT_NS, NOW[0] + 500 * MS)
    NOW[0] += MOMENT_NS
    expected = asked((ORDERS, TWO), max_wait_ms=500 - MOMENT_NS // MS)
    assert books[1] >> met(need) << to_broker(expected)


def test_what_is_late_though_there_are_records_is_asked_for_again(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(two(), VERSION) << to_broker(asked((ORDERS, TWO)))
    NOW[0] += LATE_NS
    answer = told((ORDERS, {1: b""}), ends={1: 9})
    assert books[1] >> client_sends(asked(("orders", [(1, 5)])), VERSION)
    assert books[1] >> met(need_of(books[1])) << to_broker(asked((ORDERS, [(1, 5)])))
    assert books[1] >> broker_answers(answer) << to_client(told(("orders", {1: b""}), ends={1: 9}))

    NOW[0] += 1
    assert books[2] >> client_sends(two(2), VERSION) << to_broker(asked((ORDERS, TWO)))


def test_a_fetch_from_a_little_before_is_waited_for_once(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    for number in (1, 2):
        assert books[number] >> client_sends(fetch(3 + 6 * (number - 1), number), VERSION)
    needs = [need_of(books[number]) for number in (1, 2)]
    assert answered(books[0])

    log = own(LOG, 1, 3)
    assert books[1] >> met(needs[0]) << to_client(told(("orders", {2: log}), ends={2: 9}))
    assert books[0] >> client_sends(fetch(5), VERSION) << to_broker(asked((ORDERS, [(0, 5)])))
    assert books[2] >> met(needs[1]) << to_broker(asked((ORDERS, [(0, 9)])))


@pytest.fixture
def ahead(books: list[Playbook], store: RecentRecords) -> tuple[OthersPoll, OthersPoll]:
    """The first connection is ahead of the third, which has still to read what is kept; return what both wait for."""
    most = 5 * (len(LOG) + OVERHEAD_BYTES) // 4
    store.limit(most, most)
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert books[2] >> client_sends(fetch(0, 2), VERSION)
    assert answered(books[0])
    assert books[0] >> client_sends(fetch(5), VERSION)
    need = need_of(books[0])
    assert not need.ends
    assert (need.until_ns, need.due_ns) == (NOW[0] + ROOM_NS, NOW[0] + 500 * MS)
    return need, need_of(books[2])


def test_who_is_ahead_waits_for_those_that_need_what_is_kept(
    books: list[Playbook], ahead: tuple[OthersPoll, OthersPoll]
) -> None:
    shown = told(("orders", {4: own(LOG, 2, 0)}), ends={4: 9})
    assert books[2] >> met(ahead[1]) << to_client(shown)
    assert books[2] >> client_sends(fetch(5, 2), VERSION) << to_broker(asked((ORDERS, [(0, 5)])))

    assert books[0] >> met(ahead[0])
    assert need_of(books[0]).ends


def test_who_is_ahead_does_not_wait_for_long(
    books: list[Playbook], ahead: tuple[OthersPoll, OthersPoll]
) -> None:
    """And is looked at a few times only."""
    need, began_ns, waits = ahead[0], NOW[0], [ROOM_NS]
    while need.until_ns < began_ns + MAX_ROOM_NS:
        NOW[0] = need.until_ns
        assert books[0] >> met(need)
        need = need_of(books[0])
        waits.append(need.until_ns - NOW[0])
    assert waits == [ROOM_NS << place for place in (0, 0, 1, 2, 3)]
    NOW[0] = need.until_ns
    expected = asked((ORDERS, [(0, 5)]), max_wait_ms=500 - sum(waits) // MS)

    assert books[0] >> met(need) << to_broker(expected)


def test_where_no_end_is_known_what_is_coming_is_waited_for(books: list[Playbook]) -> None:
    """Else the broker would have to be asked for that as well, for an answer has to say where each log ends."""
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert books[1] >> client_sends(two(1), VERSION)
    for _ in range(MAX_ROUNDS - 1):
        need = need_of(books[1])
        assert need.ends
        assert need.until_ns == NOW[0] + MOMENT_NS
        NOW[0] += MOMENT_NS
        assert books[1] >> met(need)

    expected = asked((ORDERS, TWO), max_wait_ms=0, min_bytes=0)
    assert books[1] >> met(need_of(books[1])) << to_broker(expected)

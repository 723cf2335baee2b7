import gc
from dataclasses import replace
from typing import Any

import pytest

from bifrost.authentication.accounts import Account
from bifrost.filters.virtual.sharing import shared_fetches
from bifrost.filters.virtual.sharing.shared_fetches import BEFORE_NS
from bifrost.session.client_session import ClientSession
from bifrost.tenancy.recent_records.recent_limits import FRESH_NS
from bifrost.tenancy.recent_records.recent_records import RecentRecords
from bifrost.wire.messages import FetchResponse
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import counts_of, divided
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from unit.filters.virtual.sharing.fetches import LOG, MS, NOW, VERSION, answered, asked, fetch, met, need_of
from unit.filters.virtual.test_fetched_partitions import ORDERS, own, told


def test_one_fetch_serves_all_connections_that_wait(stage: Stage, books: list[Playbook]) -> None:
    first, *others = books
    assert first >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    woken = list[int]()
    for number, book in enumerate(others, 1):
        assert book >> client_sends(fetch(0, number), VERSION)
        [end] = need_of(book).ends
        end.call(lambda number=number: woken.append(number))  # type: ignore[misc]
    assert not woken
    assert answered(first)
    assert woken == [1, 2]

    for number, book in enumerate(others, 1):
        assert (
            book
            >> met(need_of(book))
            << to_client(told(("orders", {2 * number: own(LOG, number, 0)}), ends={2 * number: 9}))
        )
    own_bytes = len(LOG) * 2 // 5
    assert counts_of(stage) == {
        ("acme", "remapped"): 6,
        ("acme", "own_bytes"): own_bytes,
        ("acme", "foreign_bytes"): len(LOG) - own_bytes,
        ("acme", "shared_answers"): 2,
        ("acme", "shared_own_bytes"): len(LOG) * 3 // 5,
        ("acme", "shared_foreign_bytes"): len(LOG) * 7 // 5,
    }


def test_an_offset_in_what_was_fetched_is_answered_at_once(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])

    for number, offset in ((1, 0), (2, 3), (1, 1)):
        log = own(LOG, number, offset)
        assert (
            books[number]
            >> client_sends(fetch(offset, number), VERSION)
            << to_client(told(("orders", {2 * number: log}), ends={2 * number: 9}))
        )
    # At the end of it the broker is asked for more, by one of them.
    assert books[1] >> client_sends(fetch(5, 1), VERSION) << to_broker(asked((ORDERS, [(0, 5)])))
    assert books[2] >> client_sends(fetch(5, 2), VERSION)
    assert need_of(books[2])


def test_an_answer_may_name_a_topic_twice(books: list[Playbook]) -> None:
    """As that to a single address does, of which one broker has records, and another has none."""
    assert (
        books[0]
        >> client_sends(asked(("orders", [(0, 0), (1, 0)])), VERSION)
        << to_broker(asked((ORDERS, [(0, 0), (1, 0)])))
        >> broker_answers(told((ORDERS, {0: LOG}), (ORDERS, {1: b""})))
        << to_client(told(("orders", {0: own(LOG, 0, 0)}), ("orders", {1: b""})))
    )


def test_what_was_fetched_is_given_longer_with_what_was_told_since(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])
    NOW[0] += FRESH_NS
    assert books[1] >> client_sends(fetch(9, 1), VERSION) << to_broker(asked((ORDERS, [(0, 9)])))
    shown = told(("orders", {2: b""}), ends={2: 12})
    assert books[1] >> broker_answers(told((ORDERS, {0: b""}), ends={0: 12})) << to_client(shown)

    shown = told(("orders", {4: own(LOG, 2, 0)}), ends={4: 12})
    assert books[2] >> client_sends(fetch(0, 2), VERSION) << to_client(shown)


@pytest.mark.parametrize(
    ("offset", "epoch", "most", "later_ns", "fields"),
    [
        (0, 4, 1024, 0, {}),
        (0, -1, 1024, 0, {}),
        (0, 3, 1023, 0, {}),
        (0, 3, 1024, FRESH_NS, {}),
        (0, 3, 1024, 0, {"isolation_level": 1}),
        (0, 3, 1024, 0, {"rack_id": "a"}),
        (0, 3, 1024, 0, {"min_bytes": len(LOG) + 1}),
    ],
    ids=["leader", "no leader", "smaller", "late", "committed", "rack", "more bytes"],
)
def test_another_question_goes_to_the_broker(
    books: list[Playbook], offset: int, epoch: int, most: int, later_ns: int, fields: dict[str, Any]
) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])
    NOW[0] += later_ns
    request, expected = fetch(offset, 1, **fields), asked((ORDERS, [(0, offset)]), **fields)
    for message in (request, expected):
        [one] = message.topics[0].partitions
        one.current_leader_epoch, one.partition_max_bytes = epoch, most

    assert books[1] >> client_sends(request, VERSION) << to_broker(expected)


def test_another_version_of_the_protocol_goes_to_the_broker(books: list[Playbook]) -> None:
    """A broker gives no zstd to clients with Fetch before version 10."""
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])

    assert books[1] >> client_sends(fetch(0, 1), 9) << to_broker(asked((ORDERS, [(0, 0)])))


def test_other_tenants_and_brokers_are_given_nothing(
    stage: Stage, books: list[Playbook], store: RecentRecords
) -> None:
    divided(stage, "orders", tenant="globex", recent=store)
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])
    own_node = stage.play()
    shown = told(("orders", {0: own(LOG, 0, 0)}))
    assert own_node >> client_sends(fetch(0), VERSION) << to_client(shown)

    globex = asked((physical_name("globex", "orders"), [(0, 0)]))
    assert stage.play("globex") >> client_sends(fetch(0), VERSION) << to_broker(globex)
    other_broker = stage.play(node_id=2)
    assert other_broker >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))


def test_one_connection_that_has_all_partitions_keeps_nothing(stage: Stage, store: RecentRecords) -> None:
    divided(stage, "orders", recent=store)
    book = stage.play()
    everything = asked(("orders", [(0, 0), (2, 0), (4, 0)]))
    shown = told(("orders", {2 * number: own(LOG, number, 0) for number in range(3)}))
    for _ in range(2):
        assert (
            book
            >> client_sends(everything, VERSION)
            << to_broker(asked((ORDERS, [(0, 0)])))
            >> broker_answers(told((ORDERS, {0: LOG})))
            << to_client(shown)
        )

    assert store.bytes == 0


def test_a_connection_keeps_nothing_when_the_others_have_ended(stage: Stage, store: RecentRecords) -> None:
    divided(stage, "orders", recent=store)
    shown = told(("orders", {2 * number: own(LOG, number, 0) for number in range(3)}))

    def read(book: Playbook) -> bool:
        return bool(
            book
            >> client_sends(asked(("orders", [(0, 0), (2, 0), (4, 0)])), VERSION)
            << to_broker(asked((ORDERS, [(0, 0)])))
            >> broker_answers(told((ORDERS, {0: LOG})))
            << to_client(shown)
        )

    before, book = stage.play(), stage.play()
    assert read(before)
    before.session.close()
    assert read(book)
    assert store.bytes == 0

    assert read(stage.play())
    assert store.bytes > 0


def test_a_client_waits_no_longer_than_it_has_said(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert books[1] >> client_sends(fetch(0, 1, max_wait_ms=70), VERSION)
    need = need_of(books[1])
    assert need.until_ns == NOW[0] + 70 * MS
    NOW[0] += 70 * MS

    assert books[1] >> met(need) << to_broker(asked((ORDERS, [(0, 0)]), max_wait_ms=0))


def test_when_another_has_found_nothing_one_asks_for_the_rest_of_the_time(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    for number in (1, 2):
        assert books[number] >> client_sends(fetch(0, number), VERSION)
    needs = [need_of(books[number]) for number in (1, 2)]
    NOW[0] += 400 * MS
    assert answered(books[0], b"", end=0)

    assert books[1] >> met(needs[0]) << to_broker(asked((ORDERS, [(0, 0)]), max_wait_ms=100))
    assert books[2] >> met(needs[1])
    assert need_of(books[2]).until_ns == needs[1].until_ns


def test_when_the_connection_of_a_fetch_ends_another_one_asks(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert books[1] >> client_sends(fetch(0, 1), VERSION)
    need = need_of(books[1])
    [end] = need.ends
    books[0].session.close()
    gc.collect()

    assert end.has_come
    assert books[1] >> met(need) << to_broker(asked((ORDERS, [(0, 0)])))


def test_a_fetch_that_is_stuck_is_not_joined_again(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert books[1] >> client_sends(fetch(0, 1), VERSION)
    need = need_of(books[1])
    NOW[0] += 500 * MS
    assert books[1] >> met(need) << to_broker(asked((ORDERS, [(0, 0)]), max_wait_ms=0))
    assert answered(books[1], number=1)

    NOW[0] += FRESH_NS
    assert books[2] >> client_sends(fetch(0, 2), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))


def test_what_was_deleted_or_made_meanwhile_is_not_kept(books: list[Playbook], store: RecentRecords) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    store.forget("acme")
    assert answered(books[0])

    assert store.bytes == 0
    assert books[1] >> client_sends(fetch(0, 1), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))


@pytest.fixture
def behind(books: list[Playbook]) -> Playbook:
    """The second connection has sent a heartbeat, and a Fetch of what is kept behind it."""
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])
    heartbeats = [
        messages.build("HeartbeatRequest", {"group_id": name}) for name in ("g", physical_name("acme", "g"))
    ]
    book = books[1] >> client_sends(heartbeats[0], 4) << to_broker(heartbeats[1])
    return book >> client_sends(fetch(0, 1), VERSION)


def test_a_fetch_behind_another_request_waits_for_its_answer(behind: Playbook) -> None:
    need = need_of(behind)
    assert (need.ends, need.until_ns, need.due_ns) == (frozenset(), NOW[0] + BEFORE_NS, NOW[0] + 500 * MS)
    shown = told(("orders", {2: own(LOG, 1, 0)}), ends={2: 9})

    answer = messages.build("HeartbeatResponse", {})
    assert behind >> broker_answers(answer) << to_client(answer) >> met(need) << to_client(shown)


def test_it_goes_to_the_broker_when_its_time_is_over(behind: Playbook) -> None:
    need = need_of(behind)
    NOW[0] = need.due_ns - 1
    assert behind >> met(need)
    last = need_of(behind)
    assert (last.until_ns, last.due_ns) == (need.due_ns, need.due_ns)
    NOW[0] = need.due_ns

    assert behind >> met(last) << to_broker(asked((ORDERS, [(0, 0)])))


def test_a_fetch_with_other_topics_goes_to_the_broker(books: list[Playbook]) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])

    request = asked(("orders", [(2, 0)]), ("billing", [(0, 0)]))
    expected = asked((ORDERS, [(0, 0)]), (physical_name("acme", "billing"), [(0, 0)]))
    assert books[1] >> client_sends(request, VERSION) << to_broker(expected)


def test_the_broker_is_asked_by_turns_for_partitions_of_which_nothing_is_known(books: list[Playbook]) -> None:
    both = [(0, 0), (1, 0)]
    assert books[0] >> client_sends(asked(("orders", both)), VERSION) << to_broker(asked((ORDERS, both)))
    assert (
        books[0]
        >> broker_answers(told((ORDERS, {0: LOG, 1: b""}), ends={1: 0}))
        << to_client(told(("orders", {0: own(LOG, 0, 0), 1: b""}), ends={1: 0}))
    )
    request = asked(("orders", [(2, 0), (1, 0)]))
    shown = told(("orders", {2: own(LOG, 1, 0), 1: b""}), ends={1: 0})
    shown.responses[0].partitions[1].aborted_transactions = None
    empty = told(("orders", {1: b"", 2: b""}), ends={1: 0})
    empty.responses[0].partitions[1].aborted_transactions = None

    assert books[1] >> client_sends(request, VERSION) << to_client(shown)
    assert (
        books[1]
        >> client_sends(request, VERSION)
        << to_broker(asked((ORDERS, [(1, 0)]), max_wait_ms=0, min_bytes=0))
        >> broker_answers(told((ORDERS, {1: b""}), ends={1: 0}))
        << to_client(empty)
    )
    assert books[1] >> client_sends(request, VERSION) << to_client(shown)


@pytest.mark.parametrize("is_much", [True, False])
def test_what_is_much_is_given_some_times_before_the_rest_is_asked_for(
    books: list[Playbook], monkeypatch: pytest.MonkeyPatch, is_much: bool
) -> None:
    monkeypatch.setattr(shared_fetches, "MAX_BYTES", 2 * len(LOG) + (0 if is_much else 2))
    both = [(0, 0), (1, 0)]
    most = {"max_bytes": shared_fetches.MAX_BYTES}
    assert (
        books[0] >> client_sends(asked(("orders", both)), VERSION) << to_broker(asked((ORDERS, both), **most))
    )
    assert (
        books[0]
        >> broker_answers(told((ORDERS, {0: LOG, 1: b""}), ends={1: 0}))
        << to_client(told(("orders", {0: own(LOG, 0, 0), 1: b""}), ends={1: 0}))
    )
    request = asked(("orders", [(2, 0), (1, 0)]))
    shown = told(("orders", {2: own(LOG, 1, 0), 1: b""}), ends={1: 0})
    shown.responses[0].partitions[1].aborted_transactions = None
    for _ in range(shared_fetches.MAX_LEFT_OUT if is_much else 1):
        assert books[1] >> client_sends(request, VERSION) << to_client(shown)

    rest = asked((ORDERS, [(1, 0)]), max_wait_ms=0, min_bytes=0, **most)
    assert books[1] >> client_sends(request, VERSION) << to_broker(rest)


def test_without_room_for_the_answer_the_broker_is_asked(
    books: list[Playbook], store: RecentRecords, stage: Stage
) -> None:
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])
    store.take_room = lambda tenant, size: None

    assert books[1] >> client_sends(fetch(0, 1), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[1], number=1)
    assert ("acme", "shared_answers") not in counts_of(stage)


@pytest.mark.parametrize("most", [0, 2**20])
def test_records_are_kept_as_far_as_there_is_room(
    books: list[Playbook], store: RecentRecords, most: int
) -> None:
    store.limit(most, most)
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])

    assert bool(store.bytes) is bool(most)
    book = books[1] >> client_sends(fetch(0, 1), VERSION)
    assert bool(book.said.to_client) is bool(most)
    book.said.to_broker.clear()
    book.said.to_client.clear()


def test_records_of_aborted_transactions_are_fetched_by_each(books: list[Playbook]) -> None:
    answer = told((ORDERS, {0: LOG}))
    aborted = [FetchResponse.AbortedTransaction(producer_id=7, first_offset=1)]
    answer.responses[0].partitions[0].aborted_transactions = aborted
    committed = {"isolation_level": 1}
    for number, book in ((1, books[1]), (0, books[0])):
        offset = 200 * number
        expected = asked((ORDERS, [(0, offset)]), **committed)
        assert book >> client_sends(fetch(offset, number, **committed), VERSION) << to_broker(expected)
        told_now = answer if number == 0 else told((ORDERS, {0: b""}), ends={0: 300})
        shown = told(("orders", {2 * number: own(LOG, 0, 0) if number == 0 else b""}), ends={2: 300})
        shown.responses[0].partitions[0].aborted_transactions = aborted if number == 0 else []
        assert book >> broker_answers(told_now) << to_client(shown)

    expected = asked((ORDERS, [(0, 0)]), **committed)
    assert books[1] >> client_sends(fetch(0, 1, **committed), VERSION) << to_broker(expected)


def test_a_fetch_of_very_many_partitions_goes_to_the_broker(
    books: list[Playbook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_fetches, "MAX_PARTITIONS", 1)
    both = [(0, 0), (1, 0)]
    for book in books[:2]:
        assert book >> client_sends(asked(("orders", both)), VERSION) << to_broker(asked((ORDERS, both)))


def test_another_user_of_the_tenant_asks_its_broker(stage: Stage, books: list[Playbook]) -> None:
    """Its account at the brokers may be another one, which may not read the topic."""
    assert books[0] >> client_sends(fetch(0), VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
    assert answered(books[0])
    for user, is_given in (("acme", True), ("report", False)):
        account = Account(user, "acme")
        session = ClientSession(stage.shared, replace(stage.entry(), account=account))
        session.begin("10.0.0.1:5000")
        book = Playbook(session) >> client_sends(fetch(0), VERSION)
        if is_given:
            assert book << to_client(told(("orders", {0: own(LOG, 0, 0)})))
        else:
            assert book << to_broker(asked((ORDERS, [(0, 0)])))

from __future__ import annotations

import threading

import pytest

from bifrost.embedded.demo.ledger import CONSOLE_LINES, ConsoleLine, Counts, Ledger, Order, read_order

ANVILS = Order("acme", 1, "anvil", 3)


def test_order_survives_the_wire() -> None:
    assert read_order(ANVILS.to_bytes()) == ANVILS
    assert str(ANVILS) == "#1 3 anvil"


@pytest.mark.parametrize(
    "value", [None, b"", b"\xff\xfe", b"hello", b"[]", b"17", b'{"tenant": "acme"}', b'{"order": "x"}']
)
def test_what_the_demo_did_not_write_is_no_order(value: bytes | None) -> None:
    assert read_order(value) is None


def test_acknowledged_is_lost_until_it_is_read() -> None:
    ledger = Ledger("acme")
    ledger.note_sent(ANVILS)
    before = ledger.counts()

    ledger.note_read(ANVILS.to_bytes())

    assert before == Counts(sent=1, lost=1)
    assert not before.is_clean
    assert ledger.counts() == Counts(sent=1, read=1)
    assert ledger.counts().is_clean


def test_read_before_its_acknowledgement_is_not_lost() -> None:
    ledger = Ledger("acme")

    ledger.note_read(ANVILS.to_bytes())
    ledger.note_sent(ANVILS)

    assert ledger.counts() == Counts(sent=1, read=1)
    assert [line.kind for line in ledger.console()[0]] == ["sent", "read"]


def test_read_twice_counts_once() -> None:
    ledger = Ledger("acme")
    ledger.note_sent(ANVILS)

    ledger.note_read(ANVILS.to_bytes())
    ledger.note_read(ANVILS.to_bytes())

    assert ledger.counts().read == 1


def test_another_tenants_record_has_crossed() -> None:
    ledger = Ledger("globex")
    ledger.note_sent(Order("globex", 1, "hammock", 1))
    ledger.note_read(Order("globex", 1, "hammock", 1).to_bytes())

    ledger.note_read(ANVILS.to_bytes())

    assert ledger.counts() == Counts(sent=1, read=1, crossed=1)
    assert not ledger.counts().is_clean
    assert ledger.console()[0][-1] == ConsoleLine("crossed", "#1 3 anvil of acme")


def test_users_own_record_is_shown_and_harms_nothing() -> None:
    ledger = Ledger("acme")
    ledger.note_sent(ANVILS)
    ledger.note_read(ANVILS.to_bytes())

    ledger.note_read(b"hello\x1b[2J\n")

    assert ledger.counts() == Counts(sent=1, read=1, others=1)
    assert ledger.counts().is_clean
    assert ledger.console()[0][-1] == ConsoleLine("read", "(yours) hello.[2J.")


def test_failure_is_shown_and_counted() -> None:
    ledger = Ledger("acme")
    ledger.note_sent(ANVILS)
    ledger.note_read(ANVILS.to_bytes())

    ledger.note_failed("#2 1 anvil: timed out")

    assert ledger.counts() == Counts(sent=1, read=1, failed=1)
    assert not ledger.counts().is_clean


def test_nothing_sent_proves_nothing() -> None:
    assert not Counts().is_clean


def test_console_is_bounded_and_says_how_much_there_was() -> None:
    ledger = Ledger("acme")
    for number in range(CONSOLE_LINES + 5):
        ledger.note_sent(Order("acme", number, "anvil", 1))

    lines, written = ledger.console()

    assert len(lines) == CONSOLE_LINES
    assert lines[0].text == "#5 1 anvil"
    assert written == CONSOLE_LINES + 5


def test_threads_do_not_lose_counts() -> None:
    ledger = Ledger("acme")

    def work(start: int) -> None:
        for number in range(start, start + 500):
            order = Order("acme", number, "anvil", 1)
            ledger.note_sent(order)
            ledger.note_read(order.to_bytes())

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ledger.counts() == Counts(sent=1500, read=1500)

"""kafka-transactions prints for a tenant what it prints for an owner; to abort what hangs is an operator's to do."""

from __future__ import annotations

import confluent_kafka

from support.clients.endpoint import Endpoint
from support.pages.console import TOPICS, TRANSACTIONS, Console, play_everywhere

MADE_UP = ("ProducerId", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "LastTimestamp")


def test_transactions(consoles: list[Console]) -> None:
    topic, transactional_id = "tools-transactions", "tools-transaction"
    describe = ["describe", "--transactional-id", transactional_id]
    by_pattern = ["list", "--transactional-id-pattern"]
    one = ["--topic", topic, "--partition", "0"]

    def scenario(console: Console) -> None:
        console(TOPICS, "--create", "--topic", topic)
        producer = begin_transaction(console.endpoint, transactional_id, topic)
        # Those of other tests stay until they expire, and what became of the last one of a killed client varies.
        console(
            TRANSACTIONS, "list", made_up=[*MADE_UP, "TransactionState"], prints=f"{transactional_id} 1 ? ?"
        )
        console(
            TRANSACTIONS, *by_pattern, "tools-t.*", made_up=MADE_UP, prints=f"{transactional_id} 1 ? Ongoing"
        )
        console(TRANSACTIONS, *by_pattern, f"{transactional_id}|x", made_up=MADE_UP, prints=transactional_id)
        # It is the whole ID that must match.
        assert transactional_id not in console(TRANSACTIONS, *by_pattern, "transaction")
        console(TRANSACTIONS, *describe, made_up=MADE_UP, prints=f"Ongoing 60000 ? ? {topic}-0")
        console(TRANSACTIONS, "describe", "--transactional-id", "tools-absent", fails="could not be found")
        console(TRANSACTIONS, "describe-producers", *one, made_up=MADE_UP, prints="? 0 -1 0 ? 0")
        console(TRANSACTIONS, "find-hanging", *one, prints="StartOffset")
        console(TRANSACTIONS, "find-hanging", "--broker-id", "1", prints="StartOffset")
        producer.commit_transaction(30)
        console.until("CompleteCommit", TRANSACTIONS, *describe, made_up=MADE_UP)
        console(TRANSACTIONS, "forceTerminateTransaction", "--transactionalId", transactional_id)
        console(TRANSACTIONS, *describe, made_up=MADE_UP, prints="Empty")

    play_everywhere(scenario, consoles)


def test_aborting_is_refused(consoles: list[Console]) -> None:
    topic, transactional_id = "tools-aborted", "tools-abort"
    describe = ["describe", "--transactional-id", transactional_id]

    abort = ["abort", "--topic", topic, "--partition", "0", "--start-offset", "0"]

    for console in consoles:
        console(TOPICS, "--create", "--topic", topic)
        producer = begin_transaction(console.endpoint, transactional_id, topic)
        if console.is_tenant:
            console(TRANSACTIONS, *abort, fails="The node does not support WRITE_TXN_MARKERS")
        producer.commit_transaction(30)
        console.until("CompleteCommit", TRANSACTIONS, *describe, made_up=MADE_UP)


def begin_transaction(endpoint: Endpoint, transactional_id: str, topic: str) -> confluent_kafka.Producer:
    """Return a producer with a transaction in which a record was acknowledged."""
    producer = confluent_kafka.Producer(endpoint.for_confluent | {"transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction")
    assert producer.flush(30) == 0
    return producer

"""Records of topics with a way: large requests and answers, and those that are too large."""

from __future__ import annotations

import pytest

from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage.messages import fetch, fetched, produce
from support.stage.on_ways import KeysAndSchemas, batch, on_orders, on_ways, sealing
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.refused_records import answers, refused
from support.stage.stage import Stage

ORDERS = physical_name("acme", "orders")


@pytest.fixture
def played(stage: Stage) -> tuple[TenantRecords, KeysAndSchemas]:
    """A tenant whose topic `orders` is sealed."""
    return on_ways(stage, sealing("orders"))


def test_a_large_produce_is_sealed_in_place(stage: Stage, decoded: list[str], played: object) -> None:
    data = batch(count=3, value=bytes(range(256)) * 400)
    assert len(data) > 300_000

    assert (
        stage.play()
        >> client_sends(produce("orders", records=data), 9)
        << to_broker(produce(ORDERS, records=on_orders(data)))
    )
    assert decoded == []


def test_large_answers_are_opened_in_one_place_and_in_slices(
    stage: Stage, decoded: list[str], played: object
) -> None:
    data = [batch(offset=5 + 3 * i, sequence=40 + 3 * i, value=b"secret%d" % i * 1000) for i in range(20)]
    book = stage.play()
    book.session.hot_steps = 1000  # So it takes the long way, which pauses.

    assert (
        book
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=b"".join(map(on_orders, data))))
        << to_client(fetched("orders", records=b"".join(data)))
        >> client_sends(produce("orders", records=b"".join(data)), 12)
        << to_broker(produce(ORDERS, records=b"".join(on_orders(one, i) for i, one in enumerate(data))))
    )
    assert decoded == []


def test_what_is_too_much_for_the_hot_path_is_sealed_once(
    stage: Stage, decoded: list[str], played: tuple[TenantRecords, KeysAndSchemas]
) -> None:
    data = [batch(sequence=40 + 3 * i, value=b"secret%d" % i * 10) for i in range(21)]
    book = stage.play()

    assert (
        book
        >> client_sends(produce("orders", records=data[0]), 12)
        << to_broker(produce(ORDERS, records=on_orders(data[0])))
    )
    # Now the names are known, so the hot path would get as far as the tenth batch.
    book.session.hot_steps = 100
    sealed = b"".join(on_orders(one, i) for i, one in enumerate(data) if i)
    assert (
        book
        >> client_sends(produce("orders", records=b"".join(data[1:])), 12)
        << to_broker(produce(ORDERS, records=sealed))
    )
    assert decoded == []
    assert played[1].writing.take(1, 1) == len(data)


def test_a_batch_that_is_too_large_for_its_bounds_is_refused(stage: Stage) -> None:
    records, _ = on_ways(stage, sealing("orders"), max_unpacked_batch_bytes=1024 * 1024)
    data = batch(value=bytes(40_000))

    assert (
        stage.play()
        >> client_sends(produce("orders", records=data), 9)
        << to_client(
            answers(
                (
                    "orders",
                    {
                        0: refused(
                            ErrorCode.MESSAGE_TOO_LARGE,
                            "the records need more than the 1048576 bytes of their batch",
                        )
                    },
                )
            )
        )
    )
    assert records.process.memory.hits["max_unpacked_batch_bytes", "acme"] == 1
    assert records.process.memory.used == 0

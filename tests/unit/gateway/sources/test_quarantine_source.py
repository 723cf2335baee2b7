"""What the source does with what brokers answer; real ones it meets in tests/kafka/filters/test_quarantine.py."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from bifrost.filters.records.sources import Upstream
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.errors import BrokerError, RecordsRefused
from bifrost.gateway.sources.quarantine_source import LIMIT, MAX_WAITING, QuarantineSource, make
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.errors import TooLarge
from bifrost.transforms.quarantine import QUARANTINED, BadRecords, QuarantinePlace, ToQuarantine
from bifrost.transforms.record_transform import Failure, Rejected
from support.physical_names import physical_name
from support.records.record_columns import CODECS, batch_of, only_batch

PLACE = QuarantinePlace("acme", "orders", "bad", physical_name("acme", "bad").encode())


class Context:
    now_ns = staticmethod(monotonic_ns)

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.hits: Counter[tuple[str, str]] = Counter()
        self.cluster = object()
        self.writers = [Writer() for _ in range(3)]
        self.opened: list[tuple[str, str]] = []

    def upstream_of(self, tenant: str) -> Upstream:
        assert tenant == "acme"
        return Upstream(self.cluster, self._open)

    def _open(self, cluster: object, name: str, origin: str) -> Writer:
        assert cluster is self.cluster
        self.opened.append((name, origin))
        return self.writers[len(self.opened) - 1]

    def note_limit(self, limit: str, tenant: str) -> None:
        self.hits[limit, tenant] += 1

    def count(self, source: str, number: str, amount: int = 1, tenant: str = "") -> None:
        self.counts[tenant, source, number] += amount


class Writer:
    """A topic that takes batches, or raises these errors; it answers while `held` is set."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.taken: list[tuple[int, int]] = []
        self.held = asyncio.Event()
        self.held.set()
        self.is_closed = False

    async def write(self, batch: bytes, partition: int) -> None:
        await self.held.wait()
        if self.errors:
            raise self.errors.pop()
        self.taken.append((partition, only_batch(batch).record_count))

    async def close(self) -> None:
        self.is_closed = True


def need(number: int = 0, place: QuarantinePlace = PLACE, partition: int = 6) -> ToQuarantine:
    records = [ColumnRecord(at, 0, b"k", b"v") for at in range(2)]
    batch = only_batch(batch_of(records, codec=CODECS.index("gzip")))
    given = BadRecords(batch, Columns.of(records), Rejected((), "wrong"))
    return ToQuarantine(place, "checks", partition, b"%d" % number, given)


@pytest.fixture
def context() -> Context:
    return Context()


def asked(source: QuarantineSource, *keys: ToQuarantine) -> list[object]:
    return list(asyncio.run(source.answers(keys)).values())


def test_bad_records_are_written(context: Context) -> None:
    source = make(context)
    key = need()

    assert asked(source, key) == [QUARANTINED]
    assert source.cached(key) is None
    assert context.writers[0].taken == [(6, 2)]
    assert context.opened == [(physical_name("acme", "bad"), "quarantine_topic")]
    assert key.given.columns is key.given.batch is None
    assert context.counts == {("acme", "checks", "quarantined"): 2}


@pytest.mark.parametrize(
    ("error", "is_retriable"),
    [
        (BrokerError("gone"), True),
        (RecordsRefused("MESSAGE_TOO_LARGE"), False),
        (TooLarge("batch", ""), False),
    ],
)
def test_a_producer_tries_again_after_errors_that_may_pass(
    context: Context, error: Exception, is_retriable: bool
) -> None:
    context.writers[0].errors.append(error)

    (found,) = asked(make(context), need())

    assert found == Failure("bad records cannot be written to bad", is_retriable)
    assert context.counts == {("acme", "checks", "unquarantined"): 1}


def test_records_that_are_gone_are_tried_again(context: Context) -> None:
    key = need()
    key.given.columns = None

    (found,) = asked(make(context), key)

    assert isinstance(found, Failure)
    assert found.is_retriable


def test_nothing_is_written_where_nothing_may_be(context: Context) -> None:
    (found,) = asked(make(context), need(place=PLACE._replace(unusable="it is encrypted")))

    assert found == Failure("bad records cannot be written to bad", is_retriable=False)
    assert not context.opened


def test_only_so_many_batches_wait_for_a_topic(context: Context) -> None:
    async def scenario() -> list[object]:
        context.writers[0].held.clear()
        source = make(context)
        full = asyncio.ensure_future(source.answers([need(number) for number in range(MAX_WAITING)]))
        for _ in range(3):
            await asyncio.sleep(0)
        late = await source.answers([need(MAX_WAITING)])
        context.writers[0].held.set()
        return [*late.values(), *(await full).values()]

    late, *others = asyncio.run(scenario())

    assert isinstance(late, Failure)
    assert late.is_retriable
    assert others == [QUARANTINED] * MAX_WAITING
    assert context.hits == {(LIMIT, "acme"): 1}


def test_another_cluster_and_a_reload_begin_anew(context: Context) -> None:
    async def scenario() -> None:
        source = make(context)
        await source.answers([need()])
        context.cluster = object()
        await source.answers([need(1)])
        await asyncio.sleep(0)
        assert [one.is_closed for one in context.writers] == [True, False, False]
        source.configure([])
        await source.answers([need(2)])
        source.close()
        await asyncio.sleep(0.01)

    asyncio.run(scenario())

    assert [len(one.taken) for one in context.writers] == [1, 1, 1]
    assert all(one.is_closed for one in context.writers)

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.records.record_filter import FilterName, RecordFilter
from bifrost.filters.records.sources import Source, Upstream
from bifrost.filters.records.transform_meter import TransformKey
from bifrost.filters.steps import RecordNeeds
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.sources import process_sources
from bifrost.gateway.sources.process_sources import ProcessSources
from bifrost.gateway.sources.source_names import SourceContext
from bifrost.transforms.record_transform import Direction, Failure
from bifrost.transforms.transform_kind import TransformKind
from support.records.needing import NeedsText, Text
from support.stage.filtered import headers, policy


@dataclass(frozen=True, slots=True)
class Number:
    source: ClassVar[str] = "numbers"
    name: str


@dataclass
class Known:
    """A source that knows what it is given, and waits where it knows nothing."""

    has: dict[object, object] = field(default_factory=dict)
    at_hand: dict[object, object] = field(default_factory=dict)
    configured: list[Collection[RecordFilter]] = field(default_factory=list)
    is_closed: bool = False

    def cached(self, key: object) -> object | None:
        return self.at_hand.get(key)

    async def answers(self, keys: Collection[object]) -> Mapping[object, object]:
        if not set(keys) <= self.has.keys():
            await asyncio.Event().wait()
        return {key: self.has[key] for key in keys}

    def configure(self, filters: Collection[RecordFilter]) -> None:
        self.configured.append(filters)

    def close(self) -> None:
        self.is_closed = True


@dataclass
class Process:
    sources: dict[str, Known]
    made: list[str] = field(default_factory=list)
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[TransformKey] = field(default_factory=Counter)

    def begin(self, **limits: int) -> ProcessSources:
        return ProcessSources(Limits(**limits), self.hits, self.counts, monotonic_ns, self._make)

    def _make(self, name: str, context: SourceContext) -> Source:
        self.made.append(name)
        return self.sources[name]


CLUSTER = Upstream(object(), lambda *_: pytest.fail("nothing writes"))
A, B, ONE = Text("a"), Text("b"), Number("1")


def test_keys_are_answered_by_the_sources_that_they_name() -> None:
    process = Process({"texts": Known({A: b"A", B: b"B"}), "numbers": Known({ONE: 1})})
    sources = process.begin()
    need = RecordNeeds(frozenset({A, ONE}), {B: b"before"})

    met = asyncio.run(sources.meet("acme", need, CLUSTER))

    assert met == need
    assert met.known == {A: b"A", ONE: 1, B: b"before"}
    assert met.waited_ns > 0
    assert process.counts["acme", "texts", "", "waits"] == 1
    assert process.counts["acme", "numbers", "", "wait_ns"] > 0
    assert not process.hits


def test_a_message_waits_no_longer_than_it_may_in_all() -> None:
    process = Process({"texts": Known({}, {B: b"came meanwhile"}), "numbers": Known({ONE: 1})})
    sources = process.begin(max_record_wait_ms=100)

    met = asyncio.run(sources.meet("acme", RecordNeeds(frozenset({A, B, ONE}), {}), CLUSTER))
    again = asyncio.run(
        sources.meet("acme", replace(met, keys=frozenset({Text("c")}), waited_ns=10**12), CLUSTER)
    )

    late = met.known[A]
    assert isinstance(late, Failure)
    assert late.is_retriable
    assert (met.known[B], met.known[ONE]) == (b"came meanwhile", 1)
    assert isinstance(again.known[Text("c")], Failure)
    assert again.known[A] is late
    assert process.hits == {("max_record_wait_ms", "acme"): 2}


def test_sources_are_made_for_filters_and_closed_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {
        FilterName.PRODUCE_POLICY: TransformKind(
            frozenset(Direction), lambda *_: NeedsText(), sources=frozenset({"texts"})
        ),
        FilterName.RECORD_HEADERS: TransformKind(frozenset(Direction), lambda *_: NeedsText()),
    }
    monkeypatch.setattr(process_sources, "kind_of", kinds.__getitem__)
    process, texts = Process({"texts": Known(at_hand={A: b"A"})}), policy(require_key=True)
    sources = process.begin()

    sources.configure([headers(remove=["x"])])
    assert process.made == []
    sources.configure([texts, headers(remove=["x"])])
    sources.configure([texts, texts])
    assert process.made == ["texts"]
    assert process.sources["texts"].configured == [[texts], [texts, texts]]
    assert sources.cached(A) == b"A"
    sources.configure([])
    assert process.sources["texts"].is_closed
    sources.close()


def test_what_a_source_counts_is_of_no_tenant() -> None:
    process = Process({})

    process.begin().count("texts", "calls", 3)

    assert process.counts == {("", "texts", "", "calls"): 3}


def test_the_source_of_quarantine_is_there_for_filters_with_such_a_topic_and_knows_the_cluster() -> None:
    known = Known({A: b"A"})
    process = Process(
        {"texts": Known({A: b"A"}), "schemas": known, "readings": Known(), "quarantine": Known()}
    )
    sources = process.begin()
    config = {"registry_url": "http://registry", "quarantine_topic": "bad"}
    one = RecordFilter.model_validate({"name": "SchemaValidator", "config": config})

    sources.configure([one])
    asyncio.run(sources.meet("acme", RecordNeeds(frozenset({A}), {}), CLUSTER))

    assert sorted(process.made) == ["quarantine", "readings", "schemas", "texts"]
    assert process.sources["quarantine"].configured == [[one]]
    assert sources.upstream_of("acme") is CLUSTER
    sources.note_limit("limit", "acme")
    assert process.hits == {("limit", "acme"): 1}
    sources.configure([])
    assert process.sources["quarantine"].is_closed
    assert sources.upstream_of("acme") is None

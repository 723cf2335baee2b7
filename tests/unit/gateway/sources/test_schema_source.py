import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bifrost.config.records.record_filter import RecordFilter
from bifrost.gateway.sources import schema_source
from bifrost.gateway.sources.schema_source import SchemaSource
from bifrost.schemas.schema_key import RegistrySettings, SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.schemas.wire_format import Payload
from bifrost.transforms.record_transform import Failure
from support.registry_server import RegistryServer

RECORD = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}
PROTO = 'syntax = "proto3"; package shop; message Order { int64 id = 1; }'


@dataclass
class Context:
    ms: int = 0

    def now_ns(self) -> int:
        return self.ms * 1_000_000

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, source: str, number: str, amount: int = 1) -> None:
        self.counts[source, number] += amount


@dataclass
class Setting:
    server: RegistryServer
    context: Context
    source: SchemaSource

    def key(self, schema_id: int | bytes, **options: Any) -> SchemaKey:
        settings = RegistrySettings(self.server.url, cache_ms=1000, unknown_cache_ms=100, timeout_ms=20_000)
        made = SchemaKey(settings, schema_id, ("orders",), False, SubjectStrategy.TOPIC, False)
        return replace(made, **options)

    def ask(self, *keys: SchemaKey) -> list[Any]:
        found = asyncio.run(self.source.answers(keys))
        return [found[key] for key in keys]


@pytest.fixture
def setting() -> Iterator[Setting]:
    server, context = RegistryServer(), Context()
    source = SchemaSource(context)
    yield Setting(server, context, source)
    source.close()
    server.close()


def test_a_schema_of_the_subject_is_found_and_kept(setting: Setting) -> None:
    key = setting.key(setting.server.add("orders-value", "long"))
    assert setting.source.cached(key) is None

    assert setting.ask(key) == [SchemaAnswer()]
    assert setting.source.cached(key) == SchemaAnswer()
    assert setting.ask(key) == [SchemaAnswer()]
    assert len(setting.server.asked) == 1


def test_ids_that_no_record_may_have_are_told_apart(setting: Setting) -> None:
    foreign = setting.key(setting.server.add("users-value", "long"))

    assert setting.ask(foreign, setting.key(99)) == [
        SchemaAnswer("schema 1 is not one of the subject orders-value"),
        SchemaAnswer("schema 99 is not registered"),
    ]
    setting.server.add("orders-value", "long")
    setting.context.ms = 100
    assert setting.ask(foreign) == [SchemaAnswer()]


def test_subjects_are_named_by_the_record_where_clients_do_so(setting: Setting) -> None:
    number = setting.server.add("shop.Order", RECORD)
    other = setting.server.add("orders-value", "long")

    assert setting.ask(
        setting.key(number, strategy=SubjectStrategy.RECORD),
        setting.key(number, strategy=SubjectStrategy.TOPIC_RECORD),
        setting.key(other, strategy=SubjectStrategy.RECORD),
    ) == [
        SchemaAnswer(),
        SchemaAnswer("schema 1 is not one of the subject orders-shop.Order"),
        SchemaAnswer("schema 2 is not one of the subject that its name makes"),
    ]


def test_readers_come_with_the_answer_and_are_made_once(setting: Setting) -> None:
    avro = setting.key(setting.server.add("orders-value", RECORD), is_read=True)
    proto = setting.key(setting.server.add("orders-value", PROTO, "PROTOBUF"), is_read=True)

    found = setting.ask(avro, proto, replace(avro, topics=("x", "orders")))

    assert found[0].reader.value(Payload(1, b"\2")) == {"id": 1}
    assert found[1].reader.value(Payload(2, b"\0\x08\1")) == {"id": 1}
    setting.context.ms = 2000
    assert setting.ask(avro)[0].reader is found[0].reader
    assert [path for path, _ in setting.server.asked].count("/schemas/ids/2") == 1


def test_a_schema_that_cannot_be_used_is_a_failure_that_stays(setting: Setting) -> None:
    key = setting.key(setting.server.add("orders-value", "message", "PROTOBUF"), is_read=True)

    with capture_logs() as logs:
        assert setting.ask(key) == [Failure("schema 1 cannot be used", is_retriable=False)]
    [line] = logs
    assert line["event"] == "schema_unavailable"
    assert "no Protobuf schema" in line["reason"]


def test_a_registry_that_is_away_is_asked_again_after_a_pause(setting: Setting) -> None:
    key = setting.key(setting.server.add("orders-value", "long"))
    setting.server.status = 503

    with capture_logs() as logs:
        assert setting.ask(key) == setting.ask(key, key)[:1]
    assert setting.source.cached(key) == Failure("the schema registry cannot be asked now", is_retriable=True)
    assert [line["event"] for line in logs] == ["schema_unavailable"]
    setting.server.status = None
    setting.context.ms = 1000
    assert setting.ask(key) == [SchemaAnswer()]


def test_what_the_registry_said_serves_while_it_is_away(setting: Setting) -> None:
    key = setting.key(setting.server.add("orders-value", "long"))
    assert setting.ask(key) == [SchemaAnswer()]
    setting.server.status, setting.context.ms = 503, 5000

    assert setting.source.cached(key) is None
    assert setting.ask(key) == [SchemaAnswer()]
    assert setting.source.cached(key) == SchemaAnswer()
    setting.context.ms += 3_600_000 + 2000
    assert isinstance(setting.ask(key)[0], Failure)


def test_one_question_answers_all_that_have_it(setting: Setting) -> None:
    key = setting.key(setting.server.add("orders-value", "long"))
    setting.server.delay_s = 0.2

    async def both() -> None:
        await asyncio.gather(setting.source.answers([key]), setting.source.answers([key]))

    asyncio.run(both())
    assert len(setting.server.asked) == 1


def test_too_many_questions_fail_for_now(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_source, "MAX_ASKED", 1)
    setting.server.delay_s = 0.2
    keys = [setting.key(number) for number in range(3)]

    found = setting.ask(*keys)

    assert found[0] == SchemaAnswer("schema 0 is not registered")
    assert found[1] == found[2] == Failure("too many schemas are asked for", is_retriable=True)


def test_registries_that_no_filter_asks_any_more_are_given_up(setting: Setting) -> None:
    config = {"registry_url": setting.server.url, "schema_cache_ms": 1000}
    used = RecordFilter.model_validate({"name": "SchemaValidator", "config": config})
    key = setting.key(setting.server.add("orders-value", "long"))
    setting.ask(key)

    setting.source.configure([used])
    assert setting.source.cached(key) is None
    setting.ask(key)
    setting.source.configure([])
    assert setting.source.cached(key) is None


def test_an_address_that_cannot_be_used_is_a_failure(setting: Setting) -> None:
    [found] = setting.ask(setting.key(1, registry=RegistrySettings("ftp://registry")))

    assert isinstance(found, Failure)


def test_what_a_registry_does_is_counted(setting: Setting) -> None:
    key, unknown = setting.key(setting.server.add("orders-value", "long")), setting.key(9)

    assert setting.source.cached(key) is None
    setting.ask(key, unknown)
    assert setting.source.cached(key) is not None
    setting.server.status = 503
    setting.ask(setting.key(10))

    url = setting.server.url
    told = {
        number: amount for (registry, number), amount in setting.context.counts.items() if registry == url
    }
    assert told.pop("look_up_ns") >= 0
    assert told == {"look_ups": 3, "look_up_errors": 1, "cache_hits": 1, "cache_misses": 1}

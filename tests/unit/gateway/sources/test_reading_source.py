from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from bifrost.config.records.record_filter import RecordFilter
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.sources.reading_source import make
from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.record_check import ReadPart
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload
from bifrost.transforms.large_values import GivenRecords, LargeRecord, ReadRecords, RecordsToRead
from bifrost.transforms.schema_validator import read_spec_of
from support.records.transforms import all_gone

AGE = JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps({"required": ["age"]})))


class Context:
    now_ns = staticmethod(monotonic_ns)

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def count(self, source: str, number: str, amount: int = 1, tenant: str = "") -> None:
        self.counts[tenant, source, number] += amount


def filter_of(**config: Any) -> RecordFilter:
    return RecordFilter.model_validate(
        {"name": "SchemaValidator", "label": "mine", "config": {"registry_url": "http://registry"} | config}
    )


def key_of(own: RecordFilter, data: bytes) -> RecordsToRead:
    large = [LargeRecord(0, (ReadPart("value", AGE, Payload(1, data)),))]
    spec = read_spec_of("acme", own.shown_name, own.config)
    return RecordsToRead(spec, "orders", data, GivenRecords(large, {}))


def test_each_batch_is_answered_and_a_reload_keeps_what_is_unchanged() -> None:
    own, context = filter_of(), Context()

    async def scenario() -> None:
        source = make(context)  # type: ignore[arg-type]
        source.configure([own])
        keys = [key_of(own, one) for one in (b"{}", b'{"age": 1}')]

        found = await source.answers(keys)

        both = [found[key] for key in keys]
        assert [isinstance(one, ReadRecords) and len(one.reasons) for one in both] == [1, 0]
        assert source.cached(keys[0]) is None
        source.configure([own, filter_of(fail="open")])
        await source.answers([key_of(own, b"{}")])
        assert context.counts["acme", "mine", "reading_starts"] == 1
        source.configure([filter_of(max_payload_bytes=100)])
        assert source._readers == {}
        source.close()
        await all_gone()

    asyncio.run(scenario())

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from bifrost.config.records.record_filter import RecordFilter
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.sources.transform_source import make
from bifrost.records.codec.columns import Columns
from bifrost.transforms.record_transform import Failure
from support.records.transforms import BY_VALUE, all_gone, run_of, spec_of


class Context:
    now_ns = staticmethod(monotonic_ns)

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def count(self, source: str, number: str, amount: int = 1, tenant: str = "") -> None:
        self.counts[tenant, source, number] += amount


def filter_of(file: Path, **config: Any) -> RecordFilter:
    spec = spec_of(file)
    own = {
        "transform_file": str(file),
        "timeout_ms": spec.timeout_ms,
        "max_memory_bytes": spec.max_memory_bytes,
    }
    return RecordFilter.model_validate(
        {
            "name": "PythonTransform",
            "label": "mine",
            "config": own | config,
            "rules": [{"direction": "produce"}],
        }
    )


def test_each_batch_is_answered_and_a_reload_keeps_what_is_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BY_VALUE)
    context = Context()

    async def scenario() -> None:
        source = make(context)
        source.configure([filter_of(file)])
        keys = [run_of(spec_of(file), [one]) for one in (b"a", b"error")]

        found = await source.answers(keys)

        fine, failed = (found[key] for key in keys)
        assert isinstance(fine, Columns)
        assert isinstance(failed, Failure)
        assert source.cached(keys[0]) is None
        source.configure([filter_of(file), filter_of(file, fail="open")])
        await source.answers([run_of(spec_of(file), [b"c"])])
        assert context.counts["acme", "mine", "starts"] == 1
        source.configure([filter_of(file, timeout_ms=100)])
        assert source._runners == {}
        source.close()
        await all_gone()

    asyncio.run(scenario())

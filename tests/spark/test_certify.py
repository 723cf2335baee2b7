"""The job `certify`: the files that it writes, and when it writes none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.pipeline.errors import PipelineError
from support.journal.journal_records import NOON_MS, Journal


def test_without_any_access_there_is_no_certificate(certify: Callable[..., Any]) -> None:
    with pytest.raises(PipelineError, match="run bifrost pipeline meter first"):
        certify([Journal().requests("acme", NOON_MS)])


def test_a_certificate_is_json_that_names_its_key(certify: Callable[..., Any], tmp_path: Path) -> None:
    certify([Journal().topic("acme", "orders")])

    whole = json.loads((tmp_path / "out/2026-10-05/acme.json").read_text())
    assert set(whole) == {"report", "algorithm", "key_id", "signature"}
    assert whole["report"]["certified_at"] == "2026-10-06T00:00:00Z"

import json
from pathlib import Path

from bifrost.journal.record import RecordKind, Source, encode_record, said, schema
from support.journal.journal_schema import misfits

DOCS = Path(__file__).resolve().parents[3] / "docs" / "journal.md"


def test_a_record_says_who_wrote_it_and_when() -> None:
    fields = {"type": "start", "outcome": "done", "detail": "é", "count": None}

    value = encode_record(Source("gw", 7), 5, RecordKind.EVENT, None, (10, 20), fields)

    record = json.loads(value)
    assert record == {
        "schema_version": 2,
        "kind": "event",
        "gateway_id": "gw",
        "epoch": 7,
        "sequence": 5,
        "interval_start_ms": 10,
        "interval_end_ms": 20,
        "event": {"type": "start", "outcome": "done", "detail": "é"},
    }
    assert misfits(record) == []


def test_what_says_nothing_is_left_out() -> None:
    fields = {"zero": 0, "none": None, "empty": {}, "no": False, "kept": 0, "never": None, "some": 1}

    assert said(fields, frozenset({"kept", "never"})) == {"kept": 0, "some": 1}


def test_a_produce_s_api_key_is_zero_and_there() -> None:
    fields = {"scope": "request", "api_key": 0, "api_version": 0, "requests": 0}

    record = json.loads(encode_record(Source("gw", 7), 0, RecordKind.USAGE, "acme", (1, 2), fields))

    assert record["usage"] == {"scope": "request", "api_key": 0, "api_version": 0}


def test_what_cannot_be_utf_8_is_written_all_the_same() -> None:
    value = encode_record(Source("gw", 7), 0, RecordKind.EVENT, None, (1, 2), {"detail": "\udcff"})

    assert json.loads(value)["event"] == {"detail": "?"}


def test_every_field_stands_in_the_documentation() -> None:
    text = DOCS.read_text(encoding="utf-8")

    missing = [
        name for name, comment in _fields(schema()) if f"| `{name}` |" not in text or comment not in text
    ]

    assert missing == []


def _fields(struct: dict) -> list[tuple[str, str]]:  # type: ignore[type-arg]
    found = []
    for field in struct["fields"]:
        found.append((field["name"], field["metadata"]["comment"]))
        inner = field["type"]
        while isinstance(inner, dict) and inner["type"] == "array":
            inner = inner["elementType"]
        if isinstance(inner, dict) and inner["type"] == "struct":
            found += _fields(inner)
    return found

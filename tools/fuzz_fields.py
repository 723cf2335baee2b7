"""Throw spoilt values at what seals, opens and masks their fields: Avro and JSON.

    python tools/fuzz_fields.py --values 1000000 --seed 1

A value is spoilt before it is sealed, after that, or before it is masked:

    before     it is refused, or comes back bit for bit when it was sealed
    after      it is refused, or each field that is opened is one that was sealed
    masked     it is refused, or reads under its schema again

All memory is given back to its budget, and what is read ends where the value ends, so AddressSanitizer sees a byte that
is read beyond (`make fuzz-asan`). Exits 1 at the first failure and prints it.
"""

import io
import json
import random
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import fastavro

from bifrost.config.records.masking_config import MaskedField
from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_fields import FieldOpener, FieldSealer
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.schemas.avro_program import avro_program
from bifrost.schemas.readers.reader import MAX_VALUES
from bifrost.transforms.encryption.avro_sealing import SealTargets
from bifrost.transforms.masking import avro_masker
from bifrost.transforms.masking.avro_fields import AvroFields, Targets
from bifrost.transforms.masking.avro_masker import AvroMasker
from bifrost.transforms.masking.avro_masks import MaskTargets, mask_field
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.masking.json_masker import JsonMasker
from bifrost.transforms.masking.masked_values import FieldMasker, mask_values
from frame_mutations import pick
from fuzz_command import fuzz, repeatable, show_progress
from fuzz_records import spoil

BUDGET = 1 << 20
RENEWAL = 20
"""Spoilt values for one that is made anew."""
BINDING = Place("cluster", "topic", 0).binding
WRAPPED = WrappedDek("vault:transit/kek", 1, bytes(range(60)))
DEK = Dek(bytes(range(32)), WRAPPED)
HEADER = WRAPPED.as_bytes()
NODE = {
    "type": "record",
    "name": "Node",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "bytes", "type": ["null", "int", "bytes", "string"]},
        {"name": "number", "type": ["long", "double", "null"]},
        {"name": "map", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {"name": "nodes", "type": {"type": "array", "items": "Node"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B", "C"]}},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 4}},
    ],
}
NAMED: dict[str, Any] = {}
PARSED: Any = fastavro.parse_schema(NODE, named_schemas=NAMED)
PROGRAM = avro_program(PARSED, NAMED)
SEALED_PATHS = ("text", "bytes", "map.a", "nodes.text", "nodes.map.*", "nodes.nodes.bytes")
MASKED = [
    MaskedField.model_validate({"path": path} | action)
    for path, action in (
        ("text", {"action": "last_four"}),
        ("bytes", {"action": "hash"}),
        ("number", {"action": "constant", "value": 7}),
        ("map.a[*]", {"action": "set_null"}),
        ("nodes.kind", {"action": "constant", "value": "C"}),
        ("nodes.id", {"action": "set_null"}),
        ("nodes.nodes", {"action": "set_null"}),
    )
]


class Failure(AssertionError):
    """A value came back as something else."""


def plenty() -> MemoryBudget:
    """Return a budget that is enough."""
    return MemoryBudget("batch", 1 << 30)


def avro_of(
    paths: tuple[str, ...], targets: Targets, replace: Callable[[Any, bytes], bytes | None]
) -> AvroMasker:
    """Return what finds these fields of a node."""
    made = AvroFields(PARSED, NAMED, [path_of(one) for one in paths], frozenset(), targets)
    return AvroMasker(made.nodes, made.children, made.forms, [b"\0\0\0\1"], MAX_VALUES, replace, made.root)


def masked_text(field: MaskedField, text: str) -> str:
    """Return another text."""
    return f"{field.action}{text[-4:]}"


SEALS_AVRO = avro_of(SEALED_PATHS, SealTargets(), lambda _form, _content: None)
MASKS_AVRO = avro_of(
    tuple(one.path for one in MASKED),
    MaskTargets(MASKED, [one.path.endswith("[*]") for one in MASKED], masked_text),
    mask_field,
)
JSON_PATHS = [path_of(one) for one in (*SEALED_PATHS, "nodes.map.*[*]")]
SEALS_JSON = JsonMasker(JSON_PATHS, lambda _path, _kind, _content: b'"***"')


def some_node(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    """Make a value of the schema."""

    def text() -> str:
        return "".join(rng.choices('aé"\\ \n', k=pick(rng, 40)))

    return {
        "text": text(),
        "bytes": rng.choice([None, 5, b"\0\xff", text()]),
        "number": rng.choice([None, rng.getrandbits(60), 0.5]),
        "map": {key: [text() for _ in range(pick(rng, 3))] for key in ("a", "b", "")[: pick(rng, 4)]},
        "nodes": [some_node(rng, depth - 1) for _ in range(pick(rng, 4))] if depth else [],
        "kind": rng.choice("ABC"),
        "id": rng.randbytes(4),
    }


def written(rng: random.Random, node: dict[str, Any], *, is_avro: bool) -> bytes:
    """Return a node as Avro or JSON, with the ID of its schema."""
    start = b"\0\0\0\0\1"
    if not is_avro:
        return (
            start + json.dumps(node, default=lambda one: one.hex(), ensure_ascii=bool(pick(rng, 2))).encode()
        )
    out = io.BytesIO()
    fastavro.schemaless_writer(out, PARSED, node)
    return start + (blocks_with_sizes(node) if pick(rng, 2) else out.getvalue())


def blocks_with_sizes(node: dict[str, Any]) -> bytes:
    """Return a node whose blocks say how many bytes they have, which fastavro does not write."""

    def long(number: int) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, {"type": "long"}, number)
        return out.getvalue()

    def block(items: list[bytes]) -> bytes:
        data = b"".join(items)
        return (long(-len(items)) + long(len(data)) + data if items else b"") + b"\0"

    def text(one: str) -> bytes:
        return long(len(one.encode())) + one.encode()

    def of(name: str) -> bytes:
        out = io.BytesIO()
        kind = next(one["type"] for one in NODE["fields"] if one["name"] == name)  # type: ignore[attr-defined]
        fastavro.schemaless_writer(out, kind, node[name])
        return out.getvalue()

    maps = block([text(key) + block([text(one) for one in values]) for key, values in node["map"].items()])
    nodes = block([blocks_with_sizes(one) for one in node["nodes"]])
    return of("text") + of("bytes") + of("number") + maps + nodes + of("kind") + of("id")


def columns_of(value: bytes) -> Columns:
    """Return a record with a value in memory of its own, which ends with its last byte."""
    column = BytesColumn(array("B", value), array("i", [0]), array("i", [len(value)]))
    return Columns.of([ColumnRecord(0, 0, b"k", b"")]).with_values(column)


def changed(value: bytes, masker: FieldMasker, replace: Any = None) -> bytes | None:
    """Return what becomes of a value; None: it does not read.

    Raises:
        Failure: memory is not given back.
    """
    budget = MemoryBudget("batch", BUDGET)
    columns, unreadable = mask_values(columns_of(value), {1: masker}, budget, replace)
    found = None if unreadable else columns.values[0]
    del columns
    if budget.used:
        raise Failure(f"{budget.used} bytes are not given back")
    return found


class Fuzzer:
    """Spoils values, and compares what becomes of them."""

    def __init__(self, seed: int) -> None:
        """Begin with a DEK."""
        self.rng = random.Random(seed)
        self._prefixes = count(seed << 32)
        self._dek = WritingDek(DEK, next(self._prefixes).to_bytes(8, "big"), DekLimits(), 0)

    def sealed(self, value: bytes, masker: FieldMasker) -> bytes | None:
        """Return a value with its fields sealed."""
        return changed(value, masker, FieldSealer(columns_of(value), BINDING, self._dek))

    def opened(self, value: bytes, masker: FieldMasker, contents: list[bytes] | None = None) -> bytes | None:
        """Return a value with its fields opened, and note these."""
        opener = FieldOpener(columns_of(value), BINDING, {HEADER: DEK})

        def noted(record: int, names: list[bytes], content: bytes, form: Any) -> bytes | None:
            found = opener(record, names, content, form)
            if contents is not None and found is not None:
                contents.append(found)
            return found

        return changed(value, masker, noted)

    def check(self, value: bytes, *, is_avro: bool) -> str:
        """Spoil a value, and return what came of it.

        Raises:
            Failure: see there.
        """
        masker = SEALS_AVRO if is_avro else SEALS_JSON
        match pick(self.rng, 3):
            case 0:
                return self._before(spoil(self.rng, value), masker)
            case 1:
                return self._after(value, masker)
        return self._masked(spoil(self.rng, value), is_avro=is_avro)

    def _before(self, value: bytes, masker: FieldMasker) -> str:
        sealed = self.sealed(value, masker)
        if sealed is None:
            return "not sealed by us"
        if self.opened(sealed, masker) != value:
            raise Failure("what was sealed comes back as something else")
        return "sealed"

    def _after(self, value: bytes, masker: FieldMasker) -> str:
        own: list[bytes] = []
        sealed = self.sealed(value, masker)
        if sealed is None or self.opened(sealed, masker, own) != value:
            raise Failure("what was sealed comes back as something else")
        contents: list[bytes] = []
        try:
            found = self.opened(spoil(self.rng, sealed), masker, contents)
        except (RecordsError, KeyError):
            return "refused"
        if not set(contents) <= set(own):
            raise Failure("a field that was opened is none that was sealed")
        return "not read" if found is None else "opened"

    def _masked(self, value: bytes, *, is_avro: bool) -> str:
        found = changed(value, MASKS_AVRO if is_avro else SEALS_JSON)
        if found is None:
            return "not masked"
        if is_avro:
            PROGRAM.check(found[5:], MAX_VALUES)
        else:
            json.loads(found[5:])
        return "masked"


def run(values: int, seed: int, *, started: float | None = None) -> Counter[str]:
    """Spoil and check that many values; return how many came out how.

    Raises:
        Exception: a Failure or whatever else was raised; notes tell the value and how to repeat it.
    """
    fuzzer, outcomes = Fuzzer(seed), Counter[str]()
    for number in range(values):
        if number % RENEWAL == 0:
            is_avro = pick(fuzzer.rng, 4) > 0
            value = written(fuzzer.rng, some_node(fuzzer.rng), is_avro=is_avro)
        with repeatable("values", number, seed, value):
            outcomes[fuzzer.check(value, is_avro=is_avro)] += 1
        show_progress("values", number, started, outcomes)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    return fuzz(
        run, "Throw spoilt values at what seals, opens and masks their fields.", "values", avro_masker
    )


if __name__ == "__main__":
    sys.exit(main())

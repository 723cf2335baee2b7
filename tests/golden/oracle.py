"""The engine against Kafka's own serializer: runs the comparison once and keeps what came of it.

Kafka's side is kafka_serializer.py, one process per release; for each version the newest release that has it
speaks. Seed and size of a run are the environment's: BIFROST_ORACLE_SEED (a text, or `random`) and
BIFROST_ORACLE_MESSAGES, the messages per combination.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bifrost.wire.codec import decode, encode, encode_body
from bifrost.wire.message import message_class
from bifrost.wire.program import Program
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import MessageSchema, all_schemas, message_schema, request_schema, response_schema
from golden.kafka_json import name_slots, names_on_wire, other_name, records_in, to_kafka_json
from golden.schema_text import schema_text

RELEASES = ("4.3.1", "3.9.1")
"""Newest first."""
SEED = os.environ.get("BIFROST_ORACLE_SEED", "bifrost")
MESSAGES = int(os.environ.get("BIFROST_ORACLE_MESSAGES", "8"))
MOST_FAILURES = 10
"""Differences of one kind that are told; more would be the same again."""
HEAD = b"any header"
"""What stands before the body in a frame; the engine does not look at it."""

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A VM that lives for seconds: compiling its code well would cost more than it saves, twice the time in all."""

TESTS = Path(__file__).resolve().parents[1]

Combination = tuple[int | str, str, int]
"""API key (or name of a header or payload), kind, version."""

NOT_IN_TABLE: dict[Combination, str] = {
    (api_key, kind, 0): "Kafka 3.9's unstable early access, withdrawn by 4.0: v0 is not spoken by any broker"
    for api_key in (76, 77, 78, 79)  # ShareGroupHeartbeat, ShareGroupDescribe, ShareFetch, ShareAcknowledge
    for kind in ("request", "response")
}
"""What a release of Kafka serves and our table leaves out on purpose, with the reason."""


@dataclass
class OracleRun:
    """What a run found."""

    seed: str
    served: set[Combination] = field(default_factory=set)
    """What Kafka's own classes say brokers serve, of all releases."""
    covered: set[Combination] = field(default_factory=set)
    """What at least one message was compared of."""
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=dict)
    """By check: one line for each difference."""
    seconds: float = 0.0

    def describe(self) -> str:
        """Give the run in one line, for people."""
        apis = [combination for combination in self.covered if isinstance(combination[0], int)]
        return (
            f"Kafka oracle: {len(apis)} (API, version, direction) combinations of "
            f"{len({key for key, _, _ in apis})} APIs and {len(self.covered) - len(apis)} versions of headers and "
            f"payloads; {self.counts['messages']} messages, {self.counts['fell back']} with names in tagged fields "
            f"not rewritten; {len(NOT_IN_TABLE)} withdrawn left out; seed {self.seed}, {self.seconds:.0f} s"
        )


def run_oracle() -> OracleRun:
    """Compare everything with Kafka; differences are kept, not raised.

    Raises:
        RuntimeError: Kafka's side failed.
    """
    run = OracleRun(secrets.token_hex(4) if SEED == "random" else SEED)
    started = time.monotonic()
    with ExitStack() as stack:
        serializers = [stack.enter_context(KafkaSerializer(release, run.seed)) for release in RELEASES]
        for serializer in serializers:
            wanted = {}
            for combination in sorted(serializer.served() - run.served, key=str):
                schema = schema_of(combination)
                if combination[2] in schema.versions and combination not in NOT_IN_TABLE:
                    wanted[schema.name, combination[2]] = combination
            run.served |= serializer.served()
            serializer.ask(list(wanted))
            for sample in serializer.samples():
                check_sample(sample, run)
                run.covered.add(wanted[sample["name"], sample["version"]])
    run.seconds = time.monotonic() - started
    return run


def schema_of(combination: Combination) -> MessageSchema:
    """Give the schema of a combination.

    Raises:
        KeyError: the table lacks something that Kafka's brokers serve.
    """
    key, kind, _ = combination
    if isinstance(key, str):
        return message_schema(key)
    return request_schema(key) if kind == "request" else response_schema(key)


def combinations_of_table() -> set[Combination]:
    """Give every version of every message in our table."""
    return {
        (schema.name if schema.api_key is None else schema.api_key, schema.kind, version)
        for schema in all_schemas()
        for version in schema.versions
    }


class KafkaSerializer:
    """The process of one release; a context manager that ends it."""

    def __init__(self, release: str, seed: str) -> None:
        environment = {
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "tools")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAVA_TOOL_OPTIONS": f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {JAVA_OPTIONS}",
        }
        self._release = release
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", "golden.kafka_serializer", release, seed, str(MESSAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | environment,
            text=True,
        )
        self._served: set[Combination] | None = None

    def __enter__(self) -> "KafkaSerializer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()
        self._process.wait()

    def served(self) -> set[Combination]:
        """Give what brokers of this release serve; waits for it once."""
        if self._served is None:
            found = self._answer()["combinations"]
            self._served = {(key, kind, version) for key, kind, version in found}
        return self._served

    def ask(self, wanted: Sequence[tuple[str, int]]) -> None:
        """Ask for messages of these names and versions."""
        assert self._process.stdin is not None
        json.dump(list(wanted), self._process.stdin)
        self._process.stdin.close()

    def samples(self) -> Iterator[dict[str, Any]]:
        """Yield the messages that were asked for."""
        count = 0
        while "end" not in (answer := self._answer()):
            count += 1
            yield answer
        assert answer["end"] == count

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise RuntimeError(f"Kafka {self._release}'s serializer failed: {self._errors.read()[-3000:]}")
        return json.loads(line)


def check_sample(sample: dict[str, Any], run: OracleRun) -> None:
    """Compare one message; what differs goes to the run's failures."""
    run.counts["messages"] += 1
    message = Sample(sample)
    checks = {
        "schema": check_schema,
        "decode": check_decode,
        "encode": check_encode,
        "rewrite": check_rewrite,
        "rename": check_rename,
        "unknown": check_unknown,
    }
    for name, check in checks.items():
        lines = run.failures.setdefault(name, [])
        try:
            problem = check(message, run.counts)
        except Exception as error:  # whatever it is, it belongs to this message
            problem = f"{type(error).__name__}: {error}"
        if problem is not None and len(lines) < MOST_FAILURES:
            where = f"{sample['name']} v{sample['version']} message {sample['index']}"
            lines.append(f"{where} (BIFROST_ORACLE_SEED={run.seed}): {problem}")


class Sample:
    """One message of Kafka's, ready for the engine."""

    def __init__(self, sample: dict[str, Any]) -> None:
        self.version: int = sample["version"]
        self.schema = message_schema(sample["name"])
        self.layout = compile_layout(sample["name"], self.version)
        self.java_schema: str | None = sample["schema"]
        self.json: dict[str, Any] = json.loads(sample["json"])
        self.records = [None if text is None else b64decode(text) for text in sample["records"]]
        self.body = b64decode(sample["body"])
        self.renamed = b64decode(sample["renamed"])
        self.unknown = None if sample["unknown"] is None else b64decode(sample["unknown"])

    def program(self, *, with_names: bool) -> Program:
        """Compile the rewriting of all names, or of none."""
        slots = name_slots(self.schema.name, self.version) if with_names else {}
        return compile_program(self.schema.name, self.version, slots)

    @cached_property
    def message(self) -> Any:
        """The body decoded."""
        return decode(self.layout, self.body, 0)

    @cached_property
    def names(self) -> list[tuple[int, bytes]] | None:
        """What a rewrite of all names has to look up, in order; None: it cannot be done in place."""
        return names_on_wire(self.message, self.version)


def check_schema(sample: Sample, counts: Counter[str]) -> str | None:
    """Compare what our table says of a message with what Kafka's own classes say."""
    if sample.java_schema is None:
        return None
    counts["schemas"] += 1
    ours = schema_text(sample.schema, sample.version)
    return None if ours == sample.java_schema else f"is {excerpt(ours, sample.java_schema)}"


def check_decode(sample: Sample, counts: Counter[str]) -> str | None:
    """Compare a decoded message with Kafka's JSON."""
    message = sample.message
    assert type(message) is message_class(sample.schema.name)
    # As text, for Python holds True and 1 equal, and NaN and NaN different.
    ours = json.dumps(to_kafka_json(message, sample.version), sort_keys=True)
    theirs = json.dumps(sample.json, sort_keys=True)
    if ours != theirs:
        return f"decoded {excerpt(ours, theirs)}"
    if records_in(message) != sample.records:
        return "decoded other records"
    if decode(sample.layout, memoryview(HEAD + sample.body), len(HEAD)) != message and "NaN" not in ours:
        return "decoded otherwise from a memoryview"
    return None


def check_encode(sample: Sample, counts: Counter[str]) -> str | None:
    """Compare what is encoded again with Kafka's bytes."""
    message = sample.message
    ours = encode_body(sample.layout, message)
    if ours != sample.body:
        return f"encoded {excerpt(ours.hex(), sample.body.hex())}"
    if encode(sample.layout, message, HEAD) != frame_of(sample.body):
        return "encoded another frame than body"
    return None


def check_rewrite(sample: Sample, counts: Counter[str]) -> str | None:
    """Rewrite with identity names: nothing changes, and every name is asked for, in order."""
    asked: list[tuple[int, bytes]] = []

    def same(slot: int, name: bytes) -> bytes:
        asked.append((slot, name))
        return name

    expected = sample.names
    outcome = compare_rewritten(sample, same, sample.body, with_names=True)
    if expected is None:
        counts["fell back"] += 1
        if outcome != "nothing":
            return "was rewritten although a tagged field may hold a name"
        outcome = compare_rewritten(sample, same, sample.body, with_names=False)
    elif outcome is None and asked != expected + expected:
        return f"looked up {asked}, twice expected {expected}"
    return outcome and f"with the same names came {outcome}"


def check_rename(sample: Sample, counts: Counter[str]) -> str | None:
    """Rewrite with other names: the bytes are those that Kafka writes with these names."""
    if sample.names is None:
        return None
    counts["renamed"] += 1
    outcome = compare_rewritten(sample, other_name, sample.renamed, with_names=True)
    return outcome and f"with other names came {outcome}"


def check_unknown(sample: Sample, counts: Counter[str]) -> str | None:
    """Unknown tagged fields are no obstacle to decode, which drops them, and one to rewrite."""
    if sample.unknown is None:
        return None
    counts["unknown"] += 1
    message = decode(sample.layout, sample.unknown, 0)
    if encode_body(sample.layout, message) != sample.body:
        return "unknown tagged fields changed what is decoded"
    for with_names in (False, True):
        names = Names(lambda slot, name: name)
        if rewrite(sample.program(with_names=with_names), sample.unknown, 0, names) is not None:
            return "unknown tagged fields were rewritten"
    return None


def compare_rewritten(
    sample: Sample, missing: Callable[[int, bytes], bytes], expected: bytes, *, with_names: bool
) -> str | None:
    """Rewrite a frame twice, as bytes and as memoryview, and compare it; None: it is as expected."""
    frame = HEAD + sample.body
    for source in (frame, memoryview(frame)):
        names = Names(missing)
        pieces = rewrite(sample.program(with_names=with_names), source, len(HEAD), names)
        if pieces is None:
            return "nothing"
        if b"".join(pieces) != frame_of(expected):
            return excerpt(b"".join(pieces).hex(), frame_of(expected).hex())
    return None


def frame_of(body: bytes) -> bytes:
    """Put the length and the header before a body."""
    return (len(HEAD) + len(body)).to_bytes(4, "big") + HEAD + body


def excerpt(ours: str, theirs: str) -> str:
    """Show two texts from shortly before they part."""
    part = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), -1)
    part = min(len(ours), len(theirs)) if part < 0 else part
    start = max(0, part - 60)
    return f"…{ours[start : part + 60]}…, in Kafka …{theirs[start : part + 60]}… (from character {part})"

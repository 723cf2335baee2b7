"""Error responses to random requests of every API and version, compared with those of Kafka's own classes.

Where they differ on purpose:

* The order of Produce and OffsetFetch: Kafka's go through a hash map, which also takes out what was named twice; ours
  keep the request's order.
* Texts: some of Kafka's classes repeat the code's own text in each item. Clients have these texts, and in a list of a
  hundred thousand items they would take more bytes than the list: ours have a text only if the caller gives one.
* ListPartitionReassignments: Kafka lists the partitions beside the error, as if they were being moved; ours lists none.
* Fetch up to v3: Kafka 3.9 writes null records beside an error, newer ones empty records, as ours do.
* ApiVersions with UNSUPPORTED_VERSION, which filters/api_versions.py answers.
* None, where Kafka's response has no place for the error and would read as success.
"""

import random
import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.filters.error_response import error_response
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode_body
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import Message, Struct
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema
from golden.kafka_errors import KafkaErrors
from golden.oracle import MESSAGES, RELEASES, SEED

pytestmark = pytest.mark.timeout(300 if MESSAGES <= 10 else 0)

THROTTLE_TIME_MS = 1234
CODES = [
    code
    for code in ErrorCode
    if code not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION) and code <= ErrorCode.TRANSACTION_ABORTABLE
]
"""What all releases know."""
UNORDERED = {ApiKey.PRODUCE, ApiKey.OFFSET_FETCH}
WITH_TEXT = {
    ApiKey.FIND_COORDINATOR,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_CLIENT_QUOTAS,
}
"""Where Kafka repeats the text of the code."""
NOT_READ = {
    ApiKey.PRODUCE: "is null",
    ApiKey.DESCRIBE_ACLS: " elements",
    ApiKey.DELETE_ACLS: " elements",
    ApiKey.CREATE_ACLS: " elements",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "is null",
}
"""Requests that Kafka cannot read or answer, and why."""


class Comparison:
    """All requests compared, and what differed."""

    def __init__(self) -> None:
        self.seed = secrets.token_hex(4) if SEED == "random" else SEED
        self.compared: Counter[tuple[ApiKey, int]] = Counter()
        self.without_place: Counter[ApiKey] = Counter()
        self.with_text: set[ApiKey] = set()
        self.failures: list[str] = []

    def run(self) -> None:
        """Ask both releases; each is asked for the versions that no newer one serves."""
        left = {(api, version) for api in (*SERVED, *REFUSED) for version in served_versions(api) or ()}
        for release in RELEASES:
            with KafkaErrors(release) as kafka:
                for api, version in sorted(left):
                    if (request_schema(api).name, version) in kafka.served:
                        left.discard((api, version))
                        for index in range(MESSAGES):
                            self._compare(kafka, api, version, index)
        assert not left

    def _compare(self, kafka: KafkaErrors, api: ApiKey, version: int, index: int) -> None:
        name = request_schema(api).name
        chance = random.Random(f"{self.seed} {name} {version} {index}")
        error_code = chance.choice(CODES)
        answer = kafka.ask(name, version, self.seed, index, error_code, THROTTLE_TIME_MS)
        where = f"{name} v{version} message {index} (BIFROST_ORACLE_SEED={self.seed})"
        if isinstance(answer, str):
            assert NOT_READ.get(api, "otherwise") in answer, f"{where}: {answer}"
            return
        self.compared[api, version] += 1
        body, expected = answer
        request = decode(compile_layout(name, version), body, 0)
        ours = error_response(request, version, error_code, throttle_time_ms=THROTTLE_TIME_MS)
        problem = self._difference(api, version, error_code, ours, expected)
        if problem is not None:
            self.failures.append(f"{where}: {problem}")

    def _difference(
        self, api: ApiKey, version: int, error_code: ErrorCode, ours: Message | None, expected: bytes | None
    ) -> str | None:
        layout = compile_layout(response_schema(api).name, version)
        theirs = None if expected is None else decode(layout, expected, 0)
        if ours is None:
            self.without_place[api] += 1
            carries = theirs is not None and error_code in error_codes(theirs)
            return f"Kafka has a place: {theirs}" if carries else None
        if theirs is None:
            return "Kafka has no response"
        if api == ApiKey.LIST_PARTITION_REASSIGNMENTS:
            theirs.topics = []
        for struct in structs(theirs):
            if api == ApiKey.FETCH and getattr(struct, "records", b"") is None:
                setattr(struct, "records", b"")  # noqa: B010
            if getattr(struct, "error_message", None) == error_code.message:
                self.with_text.add(api)
                setattr(struct, "error_message", None)  # noqa: B010
        if api in UNORDERED:
            same = flat(decode(layout, encode_body(layout, ours), 0)) == flat(theirs)
        else:
            same = encode_body(layout, ours) == encode_body(layout, theirs)
        return None if same else f"{ours}, in Kafka {theirs}"


def structs(struct: Struct) -> Iterator[Struct]:
    """Yield a message and all structs in it."""
    yield struct
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Struct):
                yield from structs(item)


def error_codes(message: Message) -> set[int]:
    """Return all error codes in a message."""
    names = ("error_code", "partition_error_code")
    return {getattr(one, name) for one in structs(message) for name in names if hasattr(one, name)}


def flat(message: Any) -> set[str]:
    """Return what a message says of each item that carries an error, whatever the order."""
    plain = [(one.name, getattr(message, one.name)) for one in message.FIELDS]
    text = repr([pair for pair in plain if not isinstance(pair[1], list)])
    lists = [(name, items) for name, items in plain if isinstance(items, list)]
    found = {
        f"{text} {name} {line}"
        for name, items in lists
        for item in items
        if isinstance(item, Struct)
        for line in flat(item)
    }
    return found | {text} if isinstance(message, Message) or hasattr(message, "error_code") else found


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    made = Comparison()
    made.run()
    return made


def test_error_responses_are_kafkas(comparison: Comparison) -> None:
    assert comparison.failures[:10] == []


def test_every_served_version_was_compared(comparison: Comparison) -> None:
    served = {(api, version) for api in (*SERVED, *REFUSED) for version in served_versions(api) or ()}
    rarely_read = {pair for pair in served if pair[0] in NOT_READ}

    assert served - comparison.compared.keys() <= rarely_read


def test_only_known_apis_repeat_the_text_of_the_code(comparison: Comparison) -> None:
    assert comparison.with_text == WITH_TEXT

"""What a request makes brokers keep is entered before it is sent on."""

from collections import Counter
from typing import Any

import pytest

from bifrost.records.record_batch import ProducerId, build_batch, compress
from bifrost.tenancy.broker_state.broker_state import BrokerState, StateLimits
from bifrost.tenancy.broker_state.walks import entry_walk
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema
from support.broker_state import enter
from support.stage.messages import build

PLENTY = 100_000
JOINS = (
    ApiKey.JOIN_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
)
COMMITS = (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT)


def state_of(**limits: int) -> BrokerState:
    state = BrokerState(lambda: 0, Counter(), "acme")
    state.limit(StateLimits(**{name: limits.get(name, PLENTY) for name in StateLimits._fields}))
    return state


def versions(*api_keys: ApiKey) -> list[tuple[ApiKey, int]]:
    return [
        (key, version)
        for key in api_keys
        for version in range(request_schema(key).versions.low, request_schema(key).versions.high + 1)
    ]


def counts(state: BrokerState) -> dict[str, int]:
    return {limit: len(one) for limit, one in state.entries().items() if len(one)}


def topics(api_key: ApiKey, version: int, *names: str, partitions: int = 1) -> list[dict[str, Any]]:
    """Give the topics of a commit or a Produce, by name or by ID."""
    is_by_id = (api_key, version) >= (ApiKey.OFFSET_COMMIT, 10) and api_key == ApiKey.OFFSET_COMMIT
    is_by_id = is_by_id or (api_key == ApiKey.PRODUCE and version >= 13)
    key, of_batches = "topic_id" if is_by_id else "name", api_key == ApiKey.PRODUCE
    return [
        {
            key: name.encode().ljust(16) if is_by_id else name,
            "partition_data" if of_batches else "partitions": [
                {"index" if of_batches else "partition_index": number} for number in range(partitions)
            ],
        }
        for name in names
    ]


@pytest.mark.parametrize(("api_key", "version"), versions(*JOINS))
def test_a_join_enters_its_group(api_key: ApiKey, version: int) -> None:
    state = state_of(max_groups=2)
    kept = state.of("acme")

    # A share group's member that joins is decoded.
    own = {"member_id": "m", "member_epoch": 1} if api_key == ApiKey.SHARE_GROUP_HEARTBEAT else {}

    assert enter(kept, api_key, version, group_id="one", **own)
    assert enter(kept, api_key, version, group_id="two", **own)
    assert not enter(kept, api_key, version, group_id="three", **own)
    assert enter(kept, api_key, version, group_id="one", **own)
    assert not kept.enter_group(b"three")
    assert kept.enter_group(b"two")
    assert counts(state)["max_groups"] == 2


@pytest.mark.parametrize(("api_key", "version"), versions(*COMMITS))
def test_a_commit_enters_its_group_and_each_partition(api_key: ApiKey, version: int) -> None:
    state = state_of(max_committed_offsets=7)
    kept = state.of("acme")
    named = topics(api_key, version, "a", "b", partitions=3)

    assert enter(kept, api_key, version, group_id="one", topics=named)
    assert enter(kept, api_key, version, group_id="one", topics=named)
    assert counts(state) == {"max_groups": 1, "max_committed_offsets": 6}
    assert not enter(kept, api_key, version, group_id="two", topics=named)
    assert counts(state) == {"max_groups": 2, "max_committed_offsets": 7}
    name = named[0].get("topic_id") or b"a"
    assert kept.enter_offset(b"one", name, 2)
    assert kept.enter_offset(b"two", name, 0)
    assert not kept.enter_offset(b"two", name, 1)


@pytest.mark.parametrize(("api_key", "version"), versions(*COMMITS))
def test_long_metadata_of_an_offset_counts_as_more_of_them(api_key: ApiKey, version: int) -> None:
    state = state_of(max_committed_offsets=9)
    kept = state.of("acme")

    def commit(size: int) -> bool:
        named = topics(api_key, version, "a")
        named[0]["partitions"][0]["committed_metadata"] = "m" * size
        return enter(kept, api_key, version, group_id="one", topics=named)

    for size, count in ((511, 1), (512, 2), (1_500, 3), (0, 3), (1_500, 3), (4_096, 9)):
        assert commit(size)
        assert len(state.offsets) == count
    assert not commit(4_608)
    name = topics(api_key, version, "a")[0].get("topic_id") or b"a"
    assert kept.enter_offset(b"one", name, 0, 4_096)
    assert not kept.enter_offset(b"one", name, 0, 5_000)


@pytest.mark.parametrize(("api_key", "version"), versions(ApiKey.INIT_PRODUCER_ID))
def test_only_a_transactional_id_is_entered(api_key: ApiKey, version: int) -> None:
    state = state_of(max_transactional_ids=1)
    kept = state.of("acme")

    assert enter(kept, api_key, version, transactional_id=None)
    assert counts(state) == {}
    assert enter(kept, api_key, version, transactional_id="one")
    assert not enter(kept, api_key, version, transactional_id="two")
    assert enter(kept, api_key, version, transactional_id="one")
    assert kept.enter_transactional_id(b"one")
    assert not kept.enter_transactional_id(b"two")


def batch(producer_id: int) -> bytes:
    records = [(0, b"key", b"value")]
    return build_batch(records, compress(records), ProducerId(producer_id, 0), 0)


@pytest.mark.parametrize(("api_key", "version"), [one for one in versions(ApiKey.PRODUCE) if one[1] >= 3])
def test_a_producer_is_entered_for_each_partition(api_key: ApiKey, version: int) -> None:
    state = state_of(max_producers=3)
    kept = state.of("acme")

    def produce(*producers: int, partitions: int = 1) -> bool:
        named = topics(api_key, version, "a", partitions=partitions)
        for one in named[0]["partition_data"]:
            one["records"] = b"".join(map(batch, producers))
        return enter(kept, api_key, version, topic_data=named)

    assert produce(-1)
    assert produce()
    assert counts(state) == {}
    assert produce(7, partitions=2)
    assert produce(7, partitions=2)
    assert counts(state) == {"max_producers": 2}
    assert produce(8)
    assert not produce(9)
    assert produce(-1)
    assert not produce(7, 8, 9)  # Several batches, as before Produce v3.
    name = topics(api_key, version, "a")[0].get("topic_id") or b"a"
    assert kept.enter_records(name, 0, batch(8))
    assert not kept.enter_records(name, 1, memoryview(batch(8)))


@pytest.mark.parametrize("records", [b"", b"x" * 50, bytes(51), bytes(16) + b"\1" + b"\xff" * 90])
def test_what_is_no_batch_enters_no_more_than_one_producer(records: bytes) -> None:
    state = state_of()
    kept = state.of("acme")

    assert kept.enter_records(b"a", 0, records)
    assert len(state.producers) <= 1


def test_namespaces_do_not_know_each_others_names() -> None:
    state = state_of()
    for path in ("acme", "acme:eu"):
        state.of(path).enter_offset(b"app", b"orders", 0)
        state.of(path).enter_transactional_id(b"app")
        state.of(path).enter_client(request_of("app"))

    assert counts(state) == {"max_committed_offsets": 2, "max_transactional_ids": 2, "max_client_ids": 2}


def request_of(client_id: str | None) -> bytes:
    size = (-1).to_bytes(2, "big", signed=True)
    if client_id is not None:
        size = len(client_id.encode()).to_bytes(2, "big")
    return bytes(8) + size + (client_id or "").encode() + b"a body"


def test_a_client_id_is_entered_once_and_none_is_no_entry() -> None:
    state = state_of(max_client_ids=2)
    kept = state.of("acme")

    assert all(kept.enter_client(request_of(one)) for one in (None, "", "one", "two", "one", None))
    assert not kept.enter_client(request_of("three"))
    assert kept.enter_client(memoryview(request_of("two")))
    assert counts(state) == {"max_client_ids": 2}


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_header_that_is_not_whole_is_malformed(size: int) -> None:
    with pytest.raises(MalformedFrame):
        state_of().of("acme").enter_client(request_of("app")[:size])


def test_a_request_that_is_not_whole_is_malformed() -> None:
    layout = compile_layout("OffsetCommitRequest", 9)
    whole = build(
        "OffsetCommitRequest", {"group_id": "app", "topics": topics(ApiKey.OFFSET_COMMIT, 9, "a")}, 9
    )
    body = encode_body(layout, whole)
    walk = entry_walk(ApiKey.OFFSET_COMMIT, 9)
    assert walk is not None
    for size in range(4, len(body)):
        with pytest.raises(MalformedFrame):
            state_of().of("acme").enter_request(walk, body[:size], 0)

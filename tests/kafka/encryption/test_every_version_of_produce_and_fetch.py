"""Every version of Produce and Fetch that has batches of format v2, on encrypted topics: by name and by ID.

A broker refuses zstd in versions of Produce that do not have it. It does not see how the records of a sealed batch are
compressed, so the gateway refuses it as the broker does on other topics.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, produce_request, records_of, topic_id_of
from support.encryption.encrypting_gateway import encrypting_gateway
from support.gateways.gateway_fixtures import FreshTopic
from support.physical_names import physical_name
from support.records.record_columns import batch_of, plenty

SEALED, VALUES, PLAIN = "versions-sealed", "versions-values", "versions-plain"
FIRST_PRODUCE, FIRST_FETCH = 3, 4
"""With format v2 (KIP-98)."""
FIRST_WITH_ZSTD = 7
"""Of Produce (KIP-110)."""


@pytest.fixture(scope="module")
def client(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    directory = tmp_path_factory.mktemp("encrypting")
    with (
        encrypting_gateway(directory, kafka.bootstrap, batches=SEALED, values=VALUES) as process,
        RawClient.authenticated(process.broker_endpoint("globex")) as client,
    ):
        yield client


@pytest.mark.parametrize("topic", [SEALED, VALUES])
def test_records_come_back_with_every_version(
    client: RawClient, broker: Endpoint, fresh_topic: FreshTopic, topic: str
) -> None:
    fresh_topic("globex", topic)
    named = {"topic": topic, "topic_id": topic_id_of(client, topic)}
    offered = client.versions()
    writes = range(max(FIRST_PRODUCE, offered[ApiKey.PRODUCE][0]), client.newest(ApiKey.PRODUCE) + 1)
    reads = range(max(FIRST_FETCH, offered[ApiKey.FETCH][0]), client.newest(ApiKey.FETCH) + 1)
    sent = []
    for version in writes:
        sent.append(b"a secret of version %d" % version)
        data = batch_of(
            [ColumnRecord(0, 0, b"key", sent[-1])], codec=version % (5 if version >= FIRST_WITH_ZSTD else 4)
        )
        answer = client.request(produce_request(records=data, **named), version)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, version

    assert (len(writes), len(reads)) > (1, 1)
    for version in reads:
        (found,) = client.request(fetch_request(**named), version).responses[0].partitions
        assert found.error_code == ErrorCode.NONE, version
        batches = split_batches(memoryview(found.records), is_whole=False)
        assert [one for batch in batches for one in read_columns(batch, plenty()).values] == sent, version
    with RawClient(broker) as direct:
        assert b"a secret" not in records_of(direct, physical_name("globex", topic))


@pytest.mark.parametrize("version", range(FIRST_PRODUCE, FIRST_WITH_ZSTD))
def test_zstd_in_an_older_version_is_refused_as_by_a_broker(
    client: RawClient, fresh_topic: FreshTopic, version: int
) -> None:
    data = batch_of([ColumnRecord(0, 0, b"key", b"value" * 100)], codec=4)
    codes = []
    for topic in (PLAIN, SEALED, VALUES):
        fresh_topic("globex", topic)
        answer = client.request(produce_request(topic=topic, records=data), version)
        codes.append(answer.responses[0].partition_responses[0].error_code)

    assert codes == [ErrorCode.UNSUPPORTED_COMPRESSION_TYPE] * 3

"""Frames that are sent on while they still come: whole ones arrive, a half one leaves nothing. Also test_drain.py."""

from __future__ import annotations

import hashlib
import random
import ssl
import time
from pathlib import Path

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import log_bytes, produce, produce_request, records_of
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST
from support.identity.certificates import Authority
from support.journal.journal_reader import Record, await_journal, total, usage
from support.physical_names import physical_name

SIZE = 900_000
"""Below what a broker takes by default (message.max.bytes), and three times of what makes a frame a large one."""


def digest_of(records: bytes) -> str:
    """Return what tells records apart; where a broker stands in for its leader epoch, it is left out."""
    return hashlib.sha256(records[16:]).hexdigest()


@pytest.mark.parametrize("is_tls", [False, True])
def test_large_batches_arrive_as_they_were_sent(
    start_gateway: StartGateway, fresh_topic: FreshTopic, tmp_path: Path, is_tls: bool
) -> None:
    fresh_topic("acme", "orders")
    options, context = {}, None
    if is_tls:
        authority = Authority("CA")
        server = authority.server(HOST).write(tmp_path, "server")
        tls = {"certificate_file": str(server.certificate), "key_file": str(server.key)}
        options = {"listener": {"security_protocol": "SASL_SSL", "tls": tls}}
        context = ssl.create_default_context(cafile=authority.write(tmp_path / "ca.pem"))
    gateway = start_gateway(**options)
    chooser = random.Random(7)
    with RawClient.authenticated(gateway.broker_endpoint("acme"), context=context) as client:
        produce(client, "orders", [b"the first of each kind takes the long way"])
        offset = 1
        for _ in range(12):
            size = chooser.randrange(200_000, SIZE)
            batch = build_batch([chooser.randbytes(size)])
            response = client.request(produce_request("orders", batch), client.at_most(ApiKey.PRODUCE, 12))
            answered = response.responses[0].partition_responses[0]
            assert (answered.error_code, answered.base_offset) == (ErrorCode.NONE, offset)
            assert digest_of(records_of(client, "orders", offset=offset)) == digest_of(batch)
            offset += 1


def test_the_journal_counts_them_to_the_byte(
    start_gateway: StartGateway, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    fresh_topic("acme", "orders")
    journal = {"gateway_id": "large", "interval_ms": 300}
    gateway = start_gateway(proxy={"journal": journal})
    chooser = random.Random(11)
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        produce(client, "orders", [b"the first of each kind takes the long way"])
        for offset in range(8):
            records_of(client, "orders", offset=offset)
            produce(client, "orders", [chooser.randbytes(chooser.randrange(200_000, SIZE))])
        records_of(client, "orders", offset=8)

    def rows(records: list[Record], api: str) -> list[Record]:
        return list(usage(records, "topic", topic="orders", api=api))

    records = await_journal(broker, "large", lambda found: total(rows(found, "Fetch"), "records_out") >= 9)
    produced, fetched = rows(records, "Produce"), rows(records, "Fetch")
    assert total(produced, "records_in") == total(fetched, "records_out") == 9
    stored = log_bytes(broker, physical_name("acme", "orders"))
    assert total(produced, "bytes_in") == total(fetched, "bytes_out") == stored


def test_half_a_request_leaves_nothing(start_gateway: StartGateway, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway()
    batch = build_batch([b"x" * SIZE])
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        produce(client, "orders", [b"whole"])
        version = client.at_most(ApiKey.PRODUCE, 12)
        frame = request_frame(produce_request("orders", batch), version, client.next_correlation_id())
        client.send_bytes(frame[: SIZE // 2])
        time.sleep(0.2)
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"whole again"]) == 1

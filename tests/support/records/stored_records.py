"""Reads what a broker has stored, without any gateway."""

from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import FETCH_BY_NAME, fetch_request
from support.records.record_columns import plenty


def stored_records(broker: Endpoint, topic: str) -> list[ColumnRecord]:
    """Return the records of partition 0 of a topic, called by its physical name."""
    with RawClient(broker) as direct:
        response = direct.request(fetch_request(topic), FETCH_BY_NAME)
    (partition,) = response.responses[0].partitions
    assert partition.error_code == ErrorCode.NONE
    batches = split_batches(memoryview(bytes(partition.records)), is_whole=False)
    return [one for batch in batches for one in read_columns(batch, plenty()).records()]

"""Quotas of the brokers that hold for a client ID: does one tenant use up those of another?"""

import contextlib
from collections.abc import Iterator

from bench.certificates import HOST
from bench.client import RawClient
from bench.frames import produce, record_batch
from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import AlterClientQuotasRequest

BYTES_PER_S = 1 << 20
"""Much more than the victim writes, and less than the attacker."""


def _set_quota(field: Field, *, remove: bool) -> None:
    """Give every client ID a quota of its own, as an operator would, at the broker itself."""
    entity = AlterClientQuotasRequest.EntityData(entity_type="client-id", entity_name=None)
    op = AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=float(BYTES_PER_S), remove=remove)
    entry = AlterClientQuotasRequest.EntryData(entity=[entity], ops=[op])
    client = RawClient(HOST, field.target.broker_port)
    with contextlib.closing(client):
        answer = client.request(AlterClientQuotasRequest(entries=[entry]), 1)
        assert answer.entries[0].error_code == 0, answer


@attack("records without end under the victim's client ID, which has a quota at the brokers", seconds=8)
def shared_client_id(field: Field) -> Iterator[None]:
    batch, _ = record_batch(512 * 1024, 1024)
    frame = field.frame(produce(field.target.topic, b"", 9, 0, batch), 9)
    _set_quota(field, remove=False)
    try:
        yield
        field.flood([frame], connections=4)
    finally:
        _set_quota(field, remove=True)

"""The batches of a topic of quarantine: bad records with the reason in headers."""

from bifrost.records.codec.client_batch import ClientBatch, build_batch
from bifrost.records.codec.columns import ColumnRecord, Columns, Header
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.quarantine import BadRecords, ToQuarantine

HEADERS = "bifrost.quarantine."
"""With this begin the keys of the gateway's headers; a record that has such ones loses them."""
PIECE_BYTES = 512 * 1024
"""Records of one batch before compression: half of a broker's `message.max.bytes`. A larger record is a batch alone."""
MAX_BYTES = 64 * 1024 * 1024
"""Memory for a batch that is built: twice the largest that filters read by default."""
MAX_REASON_BYTES = 1_024
"""Most bytes of a reason: it stands at each record."""

_CODEC = 0x07


def batches_of(key: ToQuarantine, batch: ClientBatch, columns: Columns, given: BadRecords) -> list[bytes]:
    """Return the batches with the bad records of a client's batch, in their order.

    They have the records' own timestamps and the client's codec, and neither a producer nor a transaction.

    Raises:
        RecordsError: they come to more than the bound.
    """
    told = [
        (f"{HEADERS}{name}".encode(), value.encode())
        for name, value in (
            ("topic", key.place.topic),
            ("partition", str(key.partition)),
            ("filter", key.filter),
        )
    ]
    made: list[bytes] = []
    piece: list[ColumnRecord] = []
    size = 0
    for index, reason in given.reasons(len(columns)).items():
        record = _record(columns, index, told, reason)
        own = _size(record)
        if piece and size + own > PIECE_BYTES:
            made.append(_built(batch, piece))
            piece, size = [], 0
        piece.append(record)
        size += own
    if piece:
        made.append(_built(batch, piece))
    return made


def _record(columns: Columns, index: int, told: list[tuple[bytes, bytes]], reason: str) -> ColumnRecord:
    mark = HEADERS.encode()
    kept: list[Header] = [one for one in columns.headers(index) if not one[0].startswith(mark)]
    why = reason.encode("utf-8", "replace")[:MAX_REASON_BYTES]
    headers = (*kept, *told, (f"{HEADERS}reason".encode(), why))
    return ColumnRecord(
        0, columns.timestamp_deltas[index], columns.keys[index], columns.values[index], headers
    )


def _size(record: ColumnRecord) -> int:
    return (
        len(record.key or b"")
        + len(record.value or b"")
        + sum(len(key) + len(value or b"") for key, value in record.headers)
    )


def _built(batch: ClientBatch, records: list[ColumnRecord]) -> bytes:
    placed = [record._replace(offset_delta=place) for place, record in enumerate(records)]
    template = ClientBatch(
        data=memoryview(b""),
        base_offset=0,
        length=0,
        partition_leader_epoch=-1,
        magic=2,
        crc=0,
        attributes=batch.attributes & _CODEC,
        last_offset_delta=len(placed) - 1,
        base_timestamp_ms=batch.base_timestamp_ms,
        max_timestamp_ms=-1,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=len(placed),
    )
    return build_batch(template, Columns.of(placed), MemoryBudget("batch", MAX_BYTES))

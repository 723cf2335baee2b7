"""One batch of a topic as a batch of another topic, sealed by another KEK; and whether both open to the same.

    stored batch ──opened──▶ Content ──sealed──▶ batch for the other topic ──stored, opened──▶ the same Content

A content is the client's batch, bit for bit, without what brokers give to it (base offset, leader epoch). A copy cannot
have all of what the header says: markers of transactions are the brokers' own, so a batch of a committed transaction
becomes one without transaction and producer; nor can the offsets of a batch have gaps that compaction made.
"""

from array import array
from struct import Struct
from typing import NamedTuple

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed, seal_batch
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.filter_sealing import FilterSealing, SealedRecords
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.opening import NOT_SAID, SEALED_KEY, has_sealed_fields
from bifrost.pipeline.stored.sealing_facts import MAX_UNPACKED_BYTES
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns, split_batches
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c

_HEADER = Struct(">qiibIhiqqqhii")
_CRC_AT, _CRC_FROM = 17, 21
_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _DELETE_HORIZON = 0x07, 0x08, 0x10, 0x40


class Content(NamedTuple):
    """What a stored batch opens to."""

    data: bytes
    """The client's batch with base offset 0 and leader epoch -1. Where its values are sealed one by one it is built
    again from their plaintext, without compression, so that it can be compared."""
    is_by_value: bool
    codec: int
    """Of the batch that the topic has or gets, if its values are sealed one by one."""


def parse(data: bytes | memoryview) -> ClientBatch:
    """Return the one batch that there is.

    Raises:
        RecordsError: it is malformed.
    """
    (batch,) = split_batches(memoryview(data), is_whole=True)
    return batch


def without_producer(data: bytes) -> bytes:
    """Return a content without transaction and producer."""
    fields = list(_HEADER.unpack_from(data))
    fields[5] &= ~_TRANSACTIONAL
    fields[9], fields[10], fields[11] = -1, -1, -1
    return _with_checksum(_HEADER.pack(*fields) + data[_HEADER.size :])


def _with_checksum(data: bytes) -> bytes:
    return data[:_CRC_AT] + crc32c(data[_CRC_FROM:]).to_bytes(4, "big") + data[_CRC_FROM:]


def _placeless(data: bytes) -> bytes:
    """Return a batch without what its place in the log gives to it."""
    fields = list(_HEADER.unpack_from(data))
    fields[0], fields[2] = 0, -1
    return _HEADER.pack(*fields) + data[_HEADER.size :]


class Resealer:
    """Opens and seals the batches of one partition of a topic."""

    def __init__(
        self,
        place: Place,
        keys: JobKeys,
        *,
        is_by_value: bool,
        accepts_plaintext: bool,
        sealing: FilterSealing | None = None,
    ) -> None:
        """Prepare.

        Args:
            place: the partition.
            keys: of the task.
            is_by_value: whether a batch that is not sealed gets its values sealed one by one: in compacted topics.
            accepts_plaintext: whether what is not sealed is content; else it is an error.
            sealing: the filter of the topic, where that says how its records are sealed.
        """
        self._place, self._keys = place, keys
        self._context = DekContext(place.cluster, place.topic)
        self._is_by_value, self._accepts_plaintext = is_by_value, accepts_plaintext
        self._records = None
        if sealing is not None:
            self._records = SealedRecords(sealing, place, keys, takes_plaintext=accepts_plaintext)

    def opened(self, data: memoryview, *, by_new_kek: bool = False) -> Content:
        """Return what a stored batch opens to.

        Args:
            data: the whole batch, with at least one record, and no marker.
            by_new_kek: whether it must be sealed by the KEK that seals.
        Raises:
            PipelineError: it is not sealed and may not be so, or its times or keys cannot be copied.
            RecordsError: it cannot be read or opened.
        """
        batch, budget = parse(data), MemoryBudget("batch", MAX_UNPACKED_BYTES)
        at = f"{self._place.topic}-{self._place.partition} at offset {batch.base_offset}"
        if batch.is_log_append_time:
            raise PipelineError(f"{at}: the broker's append time would be another one in a copy")
        if self._records is not None:

            def check(header: bytes) -> None:
                self._check_kek(header, at, by_new_kek=by_new_kek)

            return rebuilt(
                batch, self._records.opened(batch, read_columns(batch, budget), budget, check), budget
            )
        sealed = read_sealed(batch, budget)
        if sealed is not None:
            self._check_kek(sealed.dek_header, at, by_new_kek=by_new_kek)
            dek = self._keys.reading(self._context, sealed.dek_header)
            opened = sealed.open(self._place.binding, dek, budget)
            return Content(_placeless(opened), False, 0)
        columns = read_columns(batch, budget)
        values = read_sealed_values(columns)
        if not values.dek_headers and has_sealed_fields(columns):
            raise PipelineError(f"{at}: fields of values are sealed, {NOT_SAID}")
        if not values.dek_headers and not self._is_by_value:
            if not self._accepts_plaintext:
                raise PipelineError(f"{at}: the batch is not sealed; see --accept-plaintext")
            return Content(_placeless(bytes(data)), False, 0)
        if values.not_sealed and not self._accepts_plaintext:
            raise PipelineError(f"{at}: {values.not_sealed} values are not sealed; see --accept-plaintext")
        for header in values.dek_headers:
            self._check_kek(header, at, by_new_kek=by_new_kek)
        if any((key or b"").startswith(SEALED_KEY) for key in columns.keys):
            raise PipelineError(f"{at}: keys of records are sealed, {NOT_SAID}")
        deks = {header: self._keys.reading(self._context, header) for header in values.dek_headers}
        plain = values.open(self._place.binding, deks, budget, accepts_plaintext=self._accepts_plaintext)
        return rebuilt(batch, plain, budget)

    def _check_kek(self, header: bytes, at: str, *, by_new_kek: bool) -> None:
        if by_new_kek and not self._keys.is_of_seals(header):
            raise PipelineError(f"{at}: it is not sealed by the new KEK")

    def sealed(self, content: Content) -> bytes:
        """Return a content as a batch for the partition.

        Raises:
            RecordsError: it cannot be sealed.
        """
        batch, budget = parse(content.data), MemoryBudget("batch", MAX_UNPACKED_BYTES)
        if self._records is not None:
            columns = self._records.sealed(batch, read_columns(batch, budget), budget)
        else:
            dek = self._keys.writing(self._context)
            if not content.is_by_value:
                return seal_batch(batch, self._place.binding, dek, budget)
            columns = seal_values(read_columns(batch, budget), self._place.binding, dek, budget)
        packed = batch._replace(attributes=batch.attributes | content.codec)
        return build_batch(packed, columns, budget)


def rebuilt(batch: ClientBatch, columns: Columns, budget: MemoryBudget) -> Content:
    """Return a content that is built of records, without gaps in their offsets: a broker takes no others."""
    count = len(columns)
    whole = Columns(
        array("i", range(count)),
        columns.timestamp_deltas,
        columns.keys,
        columns.values,
        columns.header_starts,
        columns.header_keys,
        columns.header_values,
    )
    bare = batch._replace(
        base_offset=0,
        partition_leader_epoch=-1,
        attributes=batch.attributes & ~(_CODEC | _LOG_APPEND_TIME | _DELETE_HORIZON),
        last_offset_delta=count - 1,
    )
    return Content(build_batch(bare, whole, budget), True, batch.codec)

"""Opens stored batches for jobs that look at records: sealed ones by the job's own KEKs, others as they are."""

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import UnknownEnvelope
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.sealed_fields import has_sealed_fields as has_sealed
from bifrost.encryption.sealed_values import read_sealed_values
from bifrost.pipeline.stored.filter_sealing import FilterSealing, SealedRecords
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.records.codec.client_batch import ClientBatch, as_batch, read_columns
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

SEALED_KEY = b"BFST\x01\x03"
"""How a key begins that is sealed."""
NOT_SAID = "and no EnvelopeEncryption of --config says how"


def has_sealed_fields(columns: Columns) -> bool:
    """Whether fields of values are sealed."""
    return any(has_sealed(value) for value in columns.values if value is not None)


class Opener:
    """Opens the batches of one partition."""

    def __init__(self, place: Place, keys: JobKeys, sealing: FilterSealing | None = None) -> None:
        """Open what was sealed for a place; `sealing` is the filter of the topic, where that says how."""
        self._place, self._keys = place, keys
        self._context = DekContext(place.cluster, place.topic)
        self._records = None
        if sealing is not None:
            self._records = SealedRecords(sealing, place, keys, takes_plaintext=True)

    def opened(self, batch: ClientBatch, budget: MemoryBudget) -> tuple[ClientBatch, Columns]:
        """Return a batch with its records in plain: the client's own batch where it was sealed whole.

        Raises:
            KekUnavailable: a KEK that may open it cannot be asked.
            PipelineError: a registry gives no answer.
            RecordsError: it cannot be read, or not be opened.
        """
        if self._records is not None:
            return batch, self._records.opened(batch, read_columns(batch, budget), budget)
        sealed = read_sealed(batch, budget)
        if sealed is not None:
            dek = self._keys.reading(self._context, sealed.dek_header)
            found = as_batch(sealed.open(self._place.binding, dek, budget))
            return found, read_columns(found, budget)
        columns = read_columns(batch, budget)
        values = read_sealed_values(columns)
        if any((key or b"").startswith(SEALED_KEY) for key in columns.keys):
            raise UnknownEnvelope(f"keys of records are sealed, {NOT_SAID}")
        if not values.dek_headers:
            if has_sealed_fields(columns):
                raise UnknownEnvelope(f"fields of values are sealed, {NOT_SAID}")
            return batch, columns
        deks = {header: self._keys.reading(self._context, header) for header in values.dek_headers}
        return batch, values.open(self._place.binding, deks, budget, accepts_plaintext=True)

"""Sealing and opening batches as steps: see seal_steps.pyx."""

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.kek import Kek
from bifrost.transforms.batch_step import BatchStep
from bifrost.transforms.encryption.dek_needs import DekToSeal

class SealStep(BatchStep):
    """Seals the batches of a partition.

    Args:
        name: what the operator knows the filter by.
        binding: of the partition, see `Place`.
        key: what the DEK is asked for by.
    """

    def __init__(self, name: str, binding: bytes, key: DekToSeal) -> None: ...

class OpenStep(BatchStep):
    """Opens the batches of a partition.

    Args:
        name: what the operator knows the filter by.
        binding: of the partition, see `Place`.
        kek, context: what DEKs are asked for by, with what their envelopes say.
    """

    def __init__(self, name: str, binding: bytes, kek: Kek, context: DekContext) -> None: ...

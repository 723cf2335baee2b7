"""SchemaValidator at level `id` as a step: see schema_step.pyx."""

from collections.abc import Callable

from bifrost.schemas.schema_key import SchemaKey
from bifrost.schemas.wire_format import SchemaId
from bifrost.transforms.batch_step import BatchStep

class SchemaStep(BatchStep):
    """Lets a batch pass whose records all have IDs that records of their topic may have.

    Args:
        name: what the operator knows the filter by.
        checks_keys, checks_values: of which of them.
        key_of: returns what an ID is asked about by, given the ID and whether it is one of keys.
    """

    def __init__(
        self, name: str, checks_keys: bool, checks_values: bool, key_of: Callable[[SchemaId, bool], SchemaKey]
    ) -> None: ...

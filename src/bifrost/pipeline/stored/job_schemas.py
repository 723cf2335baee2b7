"""What the registries of a job's filters say about schemas; a task asks about each schema once."""

import time

from bifrost.pipeline.errors import PipelineError
from bifrost.registry.errors import RegistryError
from bifrost.registry.schema_lookup import SchemaLookup
from bifrost.schemas.readers.reader import SchemaError
from bifrost.schemas.schema_key import RegistrySettings, SchemaAnswer, SchemaKey
from bifrost.schemas.wire_format import told
from bifrost.transforms.record_transform import Failure

ATTEMPTS = 10
PAUSE_S = 1.0
"""Between two questions to a registry that does not answer: ten seconds and more, then the task fails."""
MAX_ANSWERS = 100_000
"""Answers that a task remembers, some 30 MB: records may name random IDs. Then it asks anew."""


class JobSchemas:
    """The schemas of one task."""

    def __init__(self) -> None:
        self._lookups: dict[RegistrySettings, SchemaLookup] = {}
        self._answers: dict[SchemaKey, SchemaAnswer | Failure] = {}

    def answer(self, key: SchemaKey) -> SchemaAnswer | Failure:
        """Return what the registry says; a `Failure` of a schema that cannot be used.

        Raises:
            PipelineError: it gives no answer.
        """
        found = self._answers.get(key)
        if found is None:
            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            found = self._answers[key] = self._asked(key)
        return found

    def _asked(self, key: SchemaKey) -> SchemaAnswer | Failure:
        lookup = self._lookups.get(key.registry)
        if lookup is None:
            lookup = self._lookups[key.registry] = SchemaLookup(key.registry)
        for attempt in range(ATTEMPTS):
            try:
                return lookup.answer(key)
            except SchemaError as error:
                named = f"schema {told(key.schema_id)}"
                return Failure(f"{named} cannot be used: {error}", is_retriable=False)
            except RegistryError as error:
                if attempt == ATTEMPTS - 1:
                    raise PipelineError(f"the schema registry: {error}") from None
            time.sleep(PAUSE_S)
        raise AssertionError

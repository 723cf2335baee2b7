"""What a registry says to a filter's question about a schema; for the gateway's threads and for jobs. Calls block.

It remembers what reads a schema, which never changes, and nothing else: how long an answer serves its caller decides.
"""

from collections import OrderedDict
from dataclasses import replace
from threading import Lock

from bifrost.registry.errors import NoSuchSchema, RegistryError
from bifrost.registry.protobuf_compiler import compile_protobuf
from bifrost.registry.registry_client import RegistryClient
from bifrost.schemas.build_reader import build_reader
from bifrost.schemas.readers.reader import Reader
from bifrost.schemas.registered_schema import SchemaType
from bifrost.schemas.schema_key import (
    RegistrySettings,
    SchemaAnswer,
    SchemaKey,
    SubjectStrategy,
    is_of_subject,
    subjects_of,
)
from bifrost.schemas.wire_format import SchemaId, told


class SchemaLookup:
    """One registry. It may be used by several threads."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Prepare; nothing is asked yet."""
        self._settings = settings
        self._client: RegistryClient | None = None
        self._readers: OrderedDict[SchemaId, Reader] = OrderedDict()
        self._lock = Lock()

    def answer(self, key: SchemaKey) -> SchemaAnswer:
        """Return whether records may have a schema, and what reads them.

        Raises:
            SchemaError: the registry has a schema that cannot be used.
            RegistryError: it gives no answer.
        """
        named = f"schema {told(key.schema_id)}"
        try:
            client = self._connected()
            subjects = client.subjects(key.schema_id) if key.topics else ()
            is_read = key.is_read or key.strategy is not SubjectStrategy.TOPIC
            reader = self._reader(client, key.schema_id) if is_read else None
        except NoSuchSchema:
            return SchemaAnswer(f"{named} is not registered")
        if not key.topics:
            return SchemaAnswer(None, reader)
        wanted = subjects_of(key, () if reader is None else reader.names)
        if not is_of_subject(subjects, wanted):
            subject = wanted[-1] if wanted else "that its name makes"
            return SchemaAnswer(f"{named} is not one of the subject {subject}")
        return SchemaAnswer(None, reader if key.is_read else None)

    def _connected(self) -> RegistryClient:
        if self._client is None:
            try:
                self._client = RegistryClient(self._settings)
            except (ValueError, OSError) as error:
                raise RegistryError(f"{self._settings.url}: {error}") from None
        return self._client

    def _reader(self, client: RegistryClient, schema_id: SchemaId) -> Reader:
        """Return what reads a schema."""
        with self._lock:
            found = self._readers.get(schema_id)
            if found is not None:
                self._readers.move_to_end(schema_id)
                return found
        schema = client.schema(schema_id)
        if schema.kind is SchemaType.PROTOBUF:
            schema = replace(schema, descriptors=compile_protobuf(schema))
        made = build_reader(schema)
        with self._lock:
            # Another thread may have been first.
            made = self._readers.setdefault(schema_id, made)
            while len(self._readers) > self._settings.max_schemas:
                self._readers.popitem(last=False)
        return made

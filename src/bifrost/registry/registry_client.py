"""One schema registry over its HTTP API, as Confluent, Apicurio (`/apis/ccompat/v7`) and Karapace serve it.

    GET /schemas/ids/{id}                        the schema, its kind and what it refers to
    GET /schemas/ids/{id}/versions               the subjects that have it
    GET /schemas/guids/{guid}, .../{guid}/ids    the same for the GUIDs of newer clients; Confluent's alone knows these
    GET /subjects/{subject}/versions/{version}   what a schema refers to

It only reads. The password or token is read from its file for each call, so one that is renewed needs no restart.
Redirects are not followed: only the configured server may answer.

Source: Confluent Schema Registry API, "Schemas".
"""

import base64
import json
import ssl
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlsplit

from bifrost.registry.errors import NoSuchSchema, RegistryError
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.schema_key import RegistrySettings
from bifrost.schemas.wire_format import SchemaId, told

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Largest answer; Confluent's registry takes schemas of 1 MiB in JSON strings by default."""
MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Most bytes of a schema and all that it refers to."""
MAX_REFERENCES = 100
"""Most schemas that one refers to, directly and not."""
MAX_SECRET_BYTES = 16 * 1024
TRIES = 2
PAUSE_S = 0.1
"""Before a request is sent again that a server or a load balancer has dropped."""
_OK, _NOT_FOUND, _TOO_MANY, _ERRORS = 200, 404, 429, 500
_NO_SCHEMA, _NO_SUBJECT, _NO_VERSION = 40403, 40401, 40402


class RegistryClient:
    """Reads schemas. Its calls block, and may come from several threads."""

    def __init__(self, settings: RegistrySettings, sleep: Callable[[float], object] = time.sleep) -> None:
        """Prepare; nothing is asked yet.

        Args:
            settings: where the registry is.
            sleep: waits before a request is sent again, in seconds.
        Raises:
            ValueError: the address is no HTTP URL.
            OSError: the certificates cannot be read.
        """
        self._settings, self._sleep = settings, sleep
        address = urlsplit(settings.url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("expected http://host:port or https://host:port")
        self._host, self._port, self._base = address.hostname, address.port, address.path.rstrip("/")
        self._context = None
        if address.scheme == "https":
            self._context = ssl.create_default_context(cafile=settings.ca_file)

    def subjects(self, schema_id: SchemaId) -> frozenset[str]:
        """Return the subjects that have a schema now.

        Raises:
            NoSuchSchema, RegistryError: see there.
        """
        number = self._number(schema_id) if isinstance(schema_id, bytes) else schema_id
        answer = self._get(f"/schemas/ids/{number}/versions")
        if not isinstance(answer, list):
            raise self._foreign()
        return frozenset(self._field(one, "subject", str) for one in answer)

    def schema(self, schema_id: SchemaId) -> RegisteredSchema:
        """Return a schema with all that it refers to; that of Protobuf is not compiled yet.

        Raises:
            NoSuchSchema, RegistryError: see there.
        """
        place = "guids" if isinstance(schema_id, bytes) else "ids"
        answer = self._get(f"/schemas/{place}/{told(schema_id)}")
        text = self._field(answer, "schema", str)
        try:
            kind = SchemaType(answer.get("schemaType") or "AVRO")
        except ValueError:
            raise RegistryError(f"{self._settings.url}: a schema of a kind that is not known") from None
        found: dict[str, Reference] = {}
        self._collect(answer, found, set(), len(text))
        return RegisteredSchema(kind, text, tuple(found.values()))

    def _number(self, guid: bytes) -> int:
        found = self._get(f"/schemas/guids/{told(guid)}/ids")
        if not isinstance(found, list) or not found:
            raise NoSuchSchema
        number: int = self._field(found[0], "id", int)
        return number

    def _collect(self, answer: Any, found: dict[str, Reference], begun: set[str], size: int) -> int:
        """Add what a schema refers to, each behind what it refers to itself; return the bytes of all."""
        references = answer.get("references") or ()
        for one in references if isinstance(references, list) else ():
            name = self._field(one, "name", str)
            if name in begun:
                continue
            begun.add(name)
            if len(begun) > MAX_REFERENCES:
                raise RegistryError(f"{self._settings.url}: more than {MAX_REFERENCES} references")
            subject, version = self._field(one, "subject", str), self._field(one, "version", int)
            try:
                below = self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}")
            except NoSuchSchema:
                raise RegistryError(f"{self._settings.url}: a reference leads to no schema") from None
            text = self._field(below, "schema", str)
            size += len(text)
            if size > MAX_TEXT_BYTES:
                raise RegistryError(f"{self._settings.url}: a schema of more than {MAX_TEXT_BYTES} bytes")
            size = self._collect(below, found, begun, size)
            found[name] = Reference(name, text)
        return size

    def _get(self, path: str) -> Any:
        reason = ""
        for attempt in range(TRIES):
            if attempt:
                self._sleep(PAUSE_S)
            try:
                status, data = self._ask(path)
            except (OSError, HTTPException) as error:
                # Its text may have what was sent; its kind says enough.
                reason = f"no answer ({type(error).__name__})"
                continue
            if status < _ERRORS and status != _TOO_MANY:
                return self._read(status, data)
            reason = f"it answers with status {status}"
        raise RegistryError(f"{self._settings.url}: {reason}")

    def _ask(self, path: str) -> tuple[int, bytes]:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        authorization = self._authorization()
        if authorization is not None:
            headers["Authorization"] = authorization
        connection = self._connect()
        try:
            connection.request("GET", self._base + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(MAX_ANSWER_BYTES + 1)
        finally:
            connection.close()

    def _connect(self) -> HTTPConnection:
        timeout_s = self._settings.timeout_ms / 1000
        if self._context is None:
            return HTTPConnection(self._host, self._port, timeout=timeout_s)
        return HTTPSConnection(self._host, self._port, timeout=timeout_s, context=self._context)

    def _authorization(self) -> str | None:
        settings = self._settings
        if settings.token_file is not None:
            return f"Bearer {self._secret(settings.token_file)}"
        if settings.password_file is not None:
            pair = f"{settings.username}:{self._secret(settings.password_file)}"
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
        return None

    def _secret(self, path: Any) -> str:
        try:
            with path.open(encoding="utf-8") as file:
                text: str = file.read(MAX_SECRET_BYTES).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise RegistryError(f"{path}: cannot be read ({reason})") from None
        if not text or not text.isprintable():
            raise RegistryError(f"{path}: has no secret")
        return text

    def _read(self, status: int, data: bytes) -> Any:
        """Return the answer; the body of a refusal could have what was sent."""
        if len(data) > MAX_ANSWER_BYTES:
            raise RegistryError(f"{self._settings.url}: an answer of more than {MAX_ANSWER_BYTES} bytes")
        try:
            answer: Any = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        if status == _OK and answer is not None:
            return answer
        if status == _NOT_FOUND:
            # A wrong path is a 404 as well, and must not make every record invalid.
            code = answer.get("error_code") if isinstance(answer, dict) else None
            if code in (_NO_SCHEMA, _NO_SUBJECT, _NO_VERSION):
                raise NoSuchSchema
            raise RegistryError(f"{self._settings.url}: no registry is there (status 404)")
        raise RegistryError(f"{self._settings.url}: it answers with status {status}")

    def _field(self, answer: Any, name: str, kind: type[Any]) -> Any:
        found = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(found, kind):
            raise self._foreign()
        return found

    def _foreign(self) -> RegistryError:
        return RegistryError(f"{self._settings.url}: an answer that no registry gives")

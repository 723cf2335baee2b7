"""What a registry may answer, over HTTP."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bifrost.registry import registry_client
from bifrost.registry.errors import NoSuchSchema, RegistryError
from bifrost.registry.registry_client import MAX_ANSWER_BYTES, RegistryClient
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.schema_key import RegistrySettings
from bifrost.schemas.wire_format import SchemaId
from support.encryption.in_thread import in_thread
from support.identity.certificates import Authority
from support.registry_server import RegistryServer

SECRET = "s3cret-of-a-registry"
GUID = UUID("89791762-2336-186f-9674-299b90a802e2")


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    played = RegistryServer()
    yield played
    played.close()


class Asked:
    """A client in another thread, as a gateway calls it."""

    def __init__(self, url: str, **options: Any) -> None:
        self.client = RegistryClient(RegistrySettings(url, **options), lambda _: None)

    def subjects(self, schema_id: SchemaId) -> frozenset[str]:
        return in_thread(lambda: self.client.subjects(schema_id))

    def schema(self, schema_id: SchemaId) -> RegisteredSchema:
        return in_thread(lambda: self.client.schema(schema_id))


def client_of(server: RegistryServer, **options: Any) -> Asked:
    return Asked(server.url, **options)


def test_subjects_and_schema_of_an_id_are_read(server: RegistryServer) -> None:
    number = server.add("orders-value", "long")
    assert server.add("other-value", "long") == number

    assert client_of(server).subjects(number) == {"orders-value", "other-value"}
    schema = client_of(server).schema(number)
    assert (schema.kind, schema.text, schema.references) == (SchemaType.AVRO, '"long"', ())


def test_an_id_that_the_registry_does_not_have_is_told_apart(server: RegistryServer) -> None:
    for ask in (client_of(server).subjects, client_of(server).schema):
        for schema_id in (4294967295, GUID.bytes):
            with pytest.raises(NoSuchSchema):
                ask(schema_id)


def test_guids_are_asked_for(server: RegistryServer) -> None:
    server.add("orders-value", {"type": "object"}, "JSON", guid=str(GUID))

    assert client_of(server).subjects(GUID.bytes) == {"orders-value"}
    assert client_of(server).schema(GUID.bytes).kind is SchemaType.JSON


def test_references_come_before_those_that_use_them(server: RegistryServer) -> None:
    def use(name: str) -> dict[str, object]:
        return {"name": name, "subject": f"of/{name}", "version": 1}

    server.add("of/a", "text a", "PROTOBUF")
    server.add("of/b", "text b", "PROTOBUF", [use("a")])
    number = server.add("orders-value", "text c", "PROTOBUF", [use("b"), use("a")])

    assert client_of(server).schema(number).references == (Reference("a", "text a"), Reference("b", "text b"))


def test_references_have_bounds(server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    number = server.add("orders-value", {}, "JSON", [{"name": "no", "subject": "no", "version": 1}])
    with pytest.raises(RegistryError, match="leads to no schema"):
        client_of(server).schema(number)
    server.add("no", "a" * 100)
    monkeypatch.setattr(registry_client, "MAX_TEXT_BYTES", 50)
    with pytest.raises(RegistryError, match="more than 50 bytes"):
        client_of(server).schema(number)
    monkeypatch.setattr(registry_client, "MAX_REFERENCES", 0)
    with pytest.raises(RegistryError, match="more than 0 references"):
        client_of(server).schema(number)


def test_secrets_are_read_for_each_call_and_never_shown(server: RegistryServer, tmp_path: Path) -> None:
    number, file = server.add("orders-value", "long"), tmp_path / "secret"
    by_token = client_of(server, token_file=file)
    by_password = client_of(server, username="gateway", password_file=file)
    for secret in (SECRET, SECRET + "2"):
        file.write_text(secret + "\n")
        for one, shown in (
            (by_token, f"Bearer {secret}"),
            (by_password, "Basic " + base64.b64encode(f"gateway:{secret}".encode()).decode()),
        ):
            one.subjects(number)
            assert server.asked[-1][1] == shown
    server.status, server.body = 401, SECRET.encode()
    with pytest.raises(RegistryError) as refused:
        by_token.subjects(number)
    assert SECRET not in str(refused.value) + repr(by_token.client)


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"a\nb"])
def test_a_secret_that_cannot_be_used_is_said(
    server: RegistryServer, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)

    with pytest.raises(RegistryError, match="secret"):
        client_of(server, token_file=tmp_path / "secret").subjects(1)
    assert server.asked == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>"),
        (200, b"{}"),
        (200, b"[3]"),
        (200, b"[" * 100_000),
        (301, b"[]"),
        (403, b"[]"),
        (404, b"<html>"),
        (404, json.dumps({"error_code": 404}).encode()),
        (200, b" " * (MAX_ANSWER_BYTES + 1)),
    ],
)
def test_an_answer_that_no_registry_gives_says_nothing_of_a_schema(
    server: RegistryServer, status: int, body: bytes
) -> None:
    server.status, server.body = status, body
    for ask in (client_of(server).subjects, client_of(server).schema):
        with pytest.raises(RegistryError):
            ask(1)
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_registry_that_struggles_is_asked_again_once(server: RegistryServer, status: int) -> None:
    server.status = status

    with pytest.raises(RegistryError, match=str(status)):
        client_of(server).subjects(1)
    assert len(server.asked) == 2


def test_a_slow_registry_and_one_that_is_away_give_no_answer(server: RegistryServer) -> None:
    server.delay_s = 1.0
    with pytest.raises(RegistryError, match="no answer"):
        client_of(server, timeout_ms=50).subjects(1)
    away = Asked("http://127.0.0.1:1")
    with pytest.raises(RegistryError, match="no answer"):
        away.subjects(1)


def test_addresses_that_cannot_be_asked_are_refused(tmp_path: Path) -> None:
    for url in ("ftp://a", "registry:80", "http://"):
        with pytest.raises(ValueError, match="expected http"):
            RegistryClient(RegistrySettings(url))
    with pytest.raises(OSError, match="No such file"):
        RegistryClient(RegistrySettings("https://a", ca_file=tmp_path / "no"))


def test_the_path_of_the_address_stays(server: RegistryServer) -> None:
    client = Asked(server.url + "/apis/ccompat/v7/")

    with pytest.raises(RegistryError, match="no registry is there"):
        client.subjects(1)
    assert server.asked[0][0] == "/apis/ccompat/v7/schemas/ids/1/versions"


def test_only_a_registry_that_the_private_ca_vouches_for_is_asked(tmp_path: Path) -> None:
    authority, other = Authority("registry CA"), Authority("another CA")
    ca_file, other_file = authority.write(tmp_path / "ca.pem"), other.write(tmp_path / "other.pem")
    server = RegistryServer(authority.server("127.0.0.1").write(tmp_path, "registry"))
    with closing(server):
        number = server.add("orders-value", "long")

        assert client_of(server, ca_file=ca_file).subjects(number) == {"orders-value"}
        assert len(server.asked) == 1
        for wrong in (other_file, None):
            with pytest.raises(RegistryError, match="no answer \\(SSLCertVerificationError\\)"):
                client_of(server, ca_file=wrong).subjects(number)
    server = RegistryServer(authority.server("registry.internal").write(tmp_path, "elsewhere"))
    with closing(server), pytest.raises(RegistryError, match="SSLCertVerificationError"):
        client_of(server, ca_file=ca_file).subjects(1)
    assert not server.asked

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bifrost.registry.errors import RegistryError
from bifrost.registry.schema_lookup import SchemaLookup
from bifrost.schemas.readers.reader import SchemaError
from bifrost.schemas.schema_key import RegistrySettings, SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.schemas.wire_format import Payload
from support.encryption.in_thread import in_thread
from support.registry_server import RegistryServer

LONG = Payload(1, b"\x02")


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    server = RegistryServer()
    yield server
    server.close()


def key_of(server: RegistryServer, schema_id: int, *, is_read: bool = True) -> SchemaKey:
    settings = RegistrySettings(server.url, timeout_ms=20_000, max_schemas=1)
    return SchemaKey(settings, schema_id, ("orders",), False, SubjectStrategy.TOPIC, is_read)


def answer(lookup: SchemaLookup, key: SchemaKey) -> SchemaAnswer:
    return in_thread(lambda: lookup.answer(key))


def test_a_schema_is_read_once_and_its_subjects_each_time(server: RegistryServer) -> None:
    key = key_of(server, server.add("orders-value", "long"))
    lookup = SchemaLookup(key.registry)

    first, second = answer(lookup, key), answer(lookup, key)

    assert first.reason is None
    assert first.reader is not None
    first.reader.check(LONG)
    assert second.reader is first.reader
    assert [path for path, _ in server.asked] == [
        "/schemas/ids/1/versions",
        "/schemas/ids/1",
        "/schemas/ids/1/versions",
    ]


def test_as_many_readers_are_kept_as_the_settings_say(server: RegistryServer) -> None:
    one, other = (key_of(server, server.add("orders-value", kind)) for kind in ("long", "string"))
    lookup = SchemaLookup(one.registry)

    kept = answer(lookup, other).reader
    answer(lookup, one)

    assert answer(lookup, other).reader is not kept


def test_what_no_record_may_name_is_an_answer(server: RegistryServer) -> None:
    foreign = key_of(server, server.add("users-value", "long"), is_read=False)
    lookup = SchemaLookup(foreign.registry)

    assert answer(lookup, foreign) == SchemaAnswer("schema 1 is not one of the subject orders-value")
    assert answer(lookup, key_of(server, 9)) == SchemaAnswer("schema 9 is not registered")


def test_what_is_no_answer_is_an_error(server: RegistryServer, tmp_path: Path) -> None:
    broken = key_of(server, server.add("orders-value", "no type of Avro"))
    with pytest.raises(SchemaError):
        answer(SchemaLookup(broken.registry), broken)
    server.status = 503
    with pytest.raises(RegistryError, match="503"):
        answer(SchemaLookup(broken.registry), broken)
    no_file = replace(broken.registry, url="https://localhost:1", ca_file=tmp_path / "none")
    with pytest.raises(RegistryError, match="No such file"):
        answer(SchemaLookup(no_file), replace(broken, registry=no_file))

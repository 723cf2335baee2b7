from collections.abc import Iterator

import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored import job_schemas
from bifrost.pipeline.stored.job_schemas import JobSchemas
from bifrost.schemas.schema_key import RegistrySettings, SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.transforms.record_transform import Failure
from support.encryption.in_thread import in_thread
from support.registry_server import RegistryServer


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    server = RegistryServer()
    yield server
    server.close()


def key_of(server: RegistryServer, schema_id: int) -> SchemaKey:
    settings = RegistrySettings(server.url, timeout_ms=20_000)
    return SchemaKey(settings, schema_id, ("orders",), False, SubjectStrategy.TOPIC, True)


def test_each_schema_is_asked_for_once(server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas, key = JobSchemas(), key_of(server, server.add("orders-value", "long"))

    found = [in_thread(lambda: schemas.answer(key)) for _ in range(2)]

    assert found[0] is found[1]
    assert len(server.asked) == 2
    monkeypatch.setattr(job_schemas, "MAX_ANSWERS", 1)
    assert in_thread(lambda: schemas.answer(key_of(server, 9))) == SchemaAnswer("schema 9 is not registered")
    assert in_thread(lambda: schemas.answer(key)) is not found[0]


def test_a_schema_that_cannot_be_used_is_a_failure(server: RegistryServer) -> None:
    key = key_of(server, server.add("orders-value", "no type of Avro"))

    found = in_thread(lambda: JobSchemas().answer(key))

    assert isinstance(found, Failure)
    assert found.reason.startswith("schema 1 cannot be used: it is no Avro schema")
    assert not found.is_retriable


def test_a_registry_that_stays_away_ends_the_task(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(server, 1)
    server.status = 503
    pauses: list[float] = []
    monkeypatch.setattr(job_schemas.time, "sleep", pauses.append)

    with pytest.raises(PipelineError, match=r"the schema registry: .* status 503"):
        in_thread(lambda: JobSchemas().answer(key))
    assert pauses.count(job_schemas.PAUSE_S) == job_schemas.ATTEMPTS - 1

"""What a gateway's filter has sealed, a job opens; and what a job seals, a gateway opens."""

import io
import pickle
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import fastavro
import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.encryption.errors import BrokenSeal, EncryptionError, UnknownKek
from bifrost.encryption.place import Place
from bifrost.pipeline.stored.filter_sealing import FilterSealing, NotAsSealed, SealedRecords, says_how
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from support.encryption.in_thread import in_thread
from support.records.filtered_batches import EncryptionFilter, filter_config, wrapped_sealing_key
from support.records.record_columns import batch_of, only_batch, plenty
from support.records.schema_answers import of_schema
from support.records.stored_batches import write_keks
from support.registry_server import RegistryServer

HERE = Place("cluster", "physical.orders", 2)
PII = {"confluent:tags": ["PII"]}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "email", "type": ["null", "string"]} | PII],
}
USER = {"type": "object", "properties": {"email": {"type": "string"} | PII}}


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with closing(RegistryServer()) as server:
        yield server


@pytest.fixture
def keks(tmp_path: Path) -> Path:
    return write_keks(tmp_path / "keks", ("old", 1), ("new", 1))


def records(*values: bytes | None, keys: tuple[bytes | None, ...] = (b"a", b"b", b"c")) -> list[ColumnRecord]:
    return [ColumnRecord(i, i, keys[i], one, ((b"h", b"x"),)) for i, one in enumerate(values)]


def avro(value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), value)
    return out.getvalue()


def keys_of(keks: Path, *opens: str, seals: str | None = None) -> JobKeys:
    return JobKeys(
        tuple(read_kek(f"file:{keks}#{one}") for one in opens),
        None if seals is None else read_kek(f"file:{keks}#{seals}"),
    )


def opened(config: FilterConfig, keys: JobKeys, data: bytes, *, plain: bool = False) -> list[ColumnRecord]:
    batch = only_batch(data)
    one = SealedRecords(FilterSealing("seal", config), HERE, keys, takes_plaintext=plain)
    return in_thread(lambda: one.opened(batch, read_columns(batch, plenty()), plenty())).records()


def sealed(config: FilterConfig, keys: JobKeys, data: bytes) -> bytes:
    batch = only_batch(data)
    one = SealedRecords(FilterSealing("seal", config), HERE, keys, takes_plaintext=False)
    return build_batch(
        batch, in_thread(lambda: one.sealed(batch, read_columns(batch, plenty()), plenty())), plenty()
    )


def gateway(config: FilterConfig) -> EncryptionFilter:
    return EncryptionFilter(config, HERE.cluster, HERE.topic)


def test_fields_by_path_open_and_are_sealed_by_another_kek(keks: Path) -> None:
    config = filter_config(keks, "old", mode="fields", sealed_fields=["email", "cards[*].no"])
    own = records(b'{"email":"SECRET@b.c","n":1}', None, b'{"cards":[{"no":4711}]}')

    stored = gateway(config).sealed(batch_of(own), HERE.partition)
    assert b"SECRET" not in b"".join(one or b"" for one in read_columns(only_batch(stored), plenty()).values)

    assert opened(config, keys_of(keks, "old"), stored) == own
    new = sealed(config, keys_of(keks, seals="new"), batch_of(own))
    with pytest.raises(UnknownKek, match="given no KEK of 'file:new'"):
        opened(config, keys_of(keks, "old"), new)
    after = filter_config(keks, "new", mode="fields", sealed_fields=["email", "cards[*].no"])
    assert gateway(after).opened(new, HERE.partition) == own


def test_fields_by_tag_open_under_a_schema_that_the_subject_has_lost(
    keks: Path, registry: RegistryServer
) -> None:
    numbers = registry.add("orders-value", ORDER), registry.add("orders-value", USER, "JSON")
    config = filter_config(
        keks, "old", mode="fields", format="schema", sealed_tags=["PII"], registry_url=registry.url
    )
    own = records(
        of_schema(numbers[0], avro({"id": 7, "email": "SECRET@b.c"})),
        of_schema(numbers[0], avro({"id": 8, "email": None})),
        of_schema(numbers[1], b'{"email":"SECRET@b.c"}'),
    )

    stored = gateway(config).sealed(batch_of(own), HERE.partition)
    assert b"SECRET" not in b"".join(one or b"" for one in read_columns(only_batch(stored), plenty()).values)
    registry._subjects.clear()

    assert opened(config, keys_of(keks, "old"), stored) == own
    new = sealed(config, keys_of(keks, seals="old"), batch_of(own))
    assert gateway(config).opened(new, HERE.partition) == own


def test_keys_of_records_open_and_are_sealed_by_another_sealing_key(keks: Path) -> None:
    config = filter_config(keks, "old", mode="values", sealing_key=wrapped_sealing_key(keks, "old"))
    own = records(b"SECRET", None, b"SECRET", keys=(b"SECRET-a", b"SECRET-b", None))

    stored = gateway(config).sealed(batch_of(own), HERE.partition)
    assert b"SECRET" not in stored

    assert opened(config, keys_of(keks, "old"), stored) == own
    before = FilterSealing("seal", config)
    after = before.with_sealing_key(wrapped_sealing_key(keks, "new", bytes(32)))
    assert before.has_sealed_keys
    assert before.config.sealing_key == config.sealing_key
    new = sealed(after.config, keys_of(keks, seals="new"), batch_of(own))
    with pytest.raises(EncryptionError):
        opened(config, keys_of(keks, "old", "new"), new)
    there = filter_config(keks, "new", mode="values", sealing_key=after.config.sealing_key)
    assert gateway(there).opened(new, HERE.partition) == own
    with pytest.raises(UnknownKek, match="given no KEK of 'file:old'"):
        opened(config, keys_of(keks, "new"), stored)


def test_plaintext_passes_as_it_is_or_is_an_error(keks: Path) -> None:
    fields = filter_config(keks, "old", mode="fields", sealed_fields=["email"])
    keyed = filter_config(keks, "old", mode="values", sealing_key=wrapped_sealing_key(keks, "old"))
    own, keys = records(b'{"email":1}', b'{"n":2}'), keys_of(keks, "old")
    data = batch_of(own, base_timestamp_ms=-1)

    for config in (fields, keyed):
        assert opened(config, keys, data, plain=True) == own
        with pytest.raises(NotAsSealed, match="are not encrypted"):
            opened(config, keys, data)
    # Among sealed fields it may have been put there by others than producers.
    one = read_columns(only_batch(gateway(fields).sealed(data, HERE.partition)), plenty()).records()[0]
    with pytest.raises(NotAsSealed, match="fields are not encrypted"):
        opened(fields, keys, batch_of([one, own[0]._replace(offset_delta=1)]), plain=True)


def test_what_is_not_as_it_was_sealed_is_an_error(keks: Path, registry: RegistryServer) -> None:
    config = filter_config(keks, "old", mode="fields", sealed_fields=["email"])
    keys = keys_of(keks, "old")
    with pytest.raises(NotAsSealed, match="a value does not read"):
        opened(config, keys, batch_of(records(b"no JSON")), plain=True)
    moved = gateway(config).sealed(batch_of(records(b'{"email":1}')), HERE.partition + 1)
    with pytest.raises(NotAsSealed, match="was changed, or sealed for another place"):
        opened(config, keys, moved)
    with pytest.raises(NotAsSealed, match="its fields cannot be encrypted"):
        sealed(config, keys_of(keks, seals="old"), batch_of(records(b"no JSON")))
    by_tag = filter_config(
        keks, "old", mode="fields", format="schema", sealed_tags=["PII"], registry_url=registry.url
    )
    with pytest.raises(NotAsSealed, match="schema 9 is not registered"):
        opened(by_tag, keys, batch_of(records(of_schema(9, b"{}"))))


def test_the_job_may_look_at_what_names_each_dek(keks: Path) -> None:
    config = filter_config(keks, "old", mode="fields", sealed_fields=["email"])
    batch = only_batch(gateway(config).sealed(batch_of(records(b'{"email":1}')), HERE.partition))
    one = SealedRecords(FilterSealing("seal", config), HERE, keys_of(keks, "old"), takes_plaintext=False)
    seen: list[bytes] = []

    def refuse(header: bytes) -> None:
        seen.append(header)
        raise BrokenSeal("not by this one")

    with pytest.raises(BrokenSeal, match="not by this one"):
        one.opened(batch, read_columns(batch, plenty()), plenty(), refuse)
    assert keys_of(keks, "new", seals="old").is_of_seals(seen[0])


def test_a_filter_is_sent_to_executors_where_it_has_to_be_known(keks: Path) -> None:
    key = wrapped_sealing_key(keks, "old")
    whole = filter_config(keks, "old")
    values = filter_config(keks, "old", mode="values")
    keyed = filter_config(keks, "old", mode="values", sealing_key=key)
    fields = filter_config(keks, "old", mode="fields", sealed_fields=["email"])

    assert [says_how(one) for one in (whole, values, keyed, fields)] == [False, False, True, True]
    assert pickle.loads(pickle.dumps(FilterSealing("seal", keyed))) == FilterSealing("seal", keyed)
    assert key not in repr(FilterSealing("seal", keyed))


def test_records_without_such_fields_need_no_key(keks: Path) -> None:
    config = filter_config(keks, "old", mode="fields", sealed_fields=["email"])
    own = records(b'{"n":2}', None)

    assert opened(config, JobKeys(()), batch_of(own)) == own
    assert Columns.of(own).records() == own

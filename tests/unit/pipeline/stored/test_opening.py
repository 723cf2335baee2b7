import random
from pathlib import Path

import pytest

from bifrost.encryption.errors import BrokenSeal, UnknownEnvelope, UnknownKek
from bifrost.encryption.place import Place
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.opening import SEALED_KEY, Opener
from bifrost.pipeline.stored.resealing import Content, Resealer
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord
from support.encryption.sealing import produced, with_header
from support.records.filtered_batches import EncryptionFilter, filter_config
from support.records.record_columns import batch_of, only_batch, plenty
from support.records.stored_batches import write_keks

HERE = Place("cluster", "orders", 0)
RECORDS = [ColumnRecord(0, 0, b"a", b"v" * 90), ColumnRecord(3, 5, b"b", None)]


@pytest.fixture
def keys(tmp_path: Path) -> JobKeys:
    path = write_keks(tmp_path / "keks", ("pay", 1))
    return JobKeys((), read_kek(f"file:{path}#pay"))


def sealed(keys: JobKeys, data: bytes, *, is_by_value: bool = False) -> bytes:
    one = Resealer(HERE, keys, is_by_value=is_by_value, accepts_plaintext=False)
    return with_header(one.sealed(Content(data, is_by_value, 4)), base_offset=70, leader_epoch=3)


def test_a_sealed_batch_opens_to_the_client_s_batch(keys: JobKeys) -> None:
    data = produced(random.Random(1), 65, 4)

    batch, columns = Opener(HERE, keys).opened(only_batch(sealed(keys, data)), plenty())

    assert bytes(batch.data) == with_header(data, base_offset=70, leader_epoch=3)
    assert columns.records() == read_columns(only_batch(data), plenty()).records()


def test_sealed_values_and_plain_records_are_opened_in_place(keys: JobKeys) -> None:
    data = batch_of(RECORDS, codec=0, last_offset_delta=9)
    stored = only_batch(sealed(keys, data, is_by_value=True))
    assert b"v" * 90 not in bytes(stored.data)

    for one in (stored, only_batch(data)):
        batch, columns = Opener(HERE, keys).opened(one, plenty())
        assert batch is one
        assert columns.records() == RECORDS


def test_what_does_not_open_is_an_error(keys: JobKeys) -> None:
    stored = only_batch(sealed(keys, batch_of(RECORDS)))
    with pytest.raises(UnknownKek, match="given no KEK of 'file:pay'"):
        Opener(HERE, JobKeys(())).opened(stored, plenty())
    with pytest.raises(BrokenSeal):
        Opener(Place("cluster", "orders", 1), keys).opened(stored, plenty())
    keyed = only_batch(batch_of([RECORDS[0]._replace(key=SEALED_KEY + b"\x02\x00")]))
    with pytest.raises(UnknownEnvelope, match="keys of records are sealed, and no EnvelopeEncryption"):
        Opener(HERE, keys).opened(keyed, plenty())


def test_fields_open_by_the_filter_of_their_topic(keys: JobKeys, tmp_path: Path) -> None:
    config = filter_config(tmp_path / "keks", "pay", mode="fields", sealed_fields=["email"])
    own = [ColumnRecord(0, 0, b"a", b'{"email":"x@y.z"}'), ColumnRecord(1, 5, b"b", None)]
    data = EncryptionFilter(config, HERE.cluster, HERE.topic).sealed(batch_of(own))
    stored = only_batch(data)

    batch, columns = Opener(HERE, keys, FilterSealing("seal", config)).opened(stored, plenty())

    assert batch is stored
    assert columns.records() == own
    with pytest.raises(UnknownEnvelope, match="fields of values are sealed, and no EnvelopeEncryption"):
        Opener(HERE, keys).opened(stored, plenty())

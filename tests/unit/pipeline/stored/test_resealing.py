import random
from pathlib import Path

import pytest

from bifrost.encryption.errors import BrokenSeal, UnknownKek
from bifrost.encryption.place import Place
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.resealing import Content, Resealer, parse, without_producer
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord
from support.encryption.sealing import TRANSACTIONAL, packed_again, produced, with_header
from support.records.filtered_batches import EncryptionFilter, filter_config
from support.records.record_columns import CODECS, batch_of, only_batch, plenty
from support.records.stored_batches import write_keks

HERE, THERE = Place("cluster", "orders", 0), Place("cluster", "orders-2", 0)
RECORDS = [
    ColumnRecord(0, 0, b"a", b"v" * 90),
    ColumnRecord(1, 5, b"b", None),
    ColumnRecord(2, 5, b"a", b"w"),
]


class Stage:
    """A topic under an old KEK and its copy under a new one."""

    def __init__(self, keks: Path) -> None:
        old, new = (read_kek(f"file:{keks}#{name}") for name in ("old", "new"))
        self.before, self.after = JobKeys((), old), JobKeys((old,), new)

    def source(self, *, is_by_value: bool = False, accepts_plaintext: bool = False) -> Resealer:
        return Resealer(HERE, self.after, is_by_value=is_by_value, accepts_plaintext=accepts_plaintext)

    def copy(self, *, is_by_value: bool = False) -> Resealer:
        return Resealer(THERE, self.after, is_by_value=is_by_value, accepts_plaintext=False)

    def stored(self, content: Content, *, is_by_value: bool = False) -> memoryview:
        """Return a content as it was sealed under the old KEK and stored at some offset."""
        options = {"is_by_value": is_by_value, "accepts_plaintext": False}
        data = Resealer(HERE, self.before, **options).sealed(content)
        return memoryview(with_header(data, base_offset=70, leader_epoch=3))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(write_keks(tmp_path / "keks", ("old", 1), ("new", 1)))


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_a_sealed_batch_is_sealed_anew_and_opens_to_the_same_bytes(stage: Stage, codec: int) -> None:
    data = produced(random.Random(codec), 65, codec, TRANSACTIONAL if codec == 1 else 0)
    stored = stage.stored(Content(data, False, 0))

    content = stage.source().opened(stored)
    copied = stage.copy().sealed(content)

    assert content.data == data
    found = stage.copy().opened(memoryview(packed_again(copied, 4)), by_new_kek=True)
    assert found == content
    with pytest.raises(UnknownKek):
        Resealer(THERE, stage.before, is_by_value=False, accepts_plaintext=False).opened(memoryview(copied))


@pytest.mark.parametrize("codec", [0, 1, 4])
def test_sealed_values_are_sealed_anew_and_offsets_close_up(stage: Stage, codec: int) -> None:
    gaps = [one._replace(offset_delta=3 * i) for i, one in enumerate(RECORDS)]
    data = batch_of(gaps, codec=0, last_offset_delta=9)
    stored = stage.stored(Content(data, True, codec), is_by_value=True)
    assert b"v" * 90 not in stored

    content = stage.source(is_by_value=True).opened(stored)
    copied = stage.copy(is_by_value=True).sealed(content)

    assert read_columns(only_batch(content.data), plenty()).records() == RECORDS
    assert only_batch(copied).codec == codec
    assert only_batch(copied).last_offset_delta == 2
    assert stage.copy(is_by_value=True).opened(memoryview(copied), by_new_kek=True) == content


@pytest.mark.parametrize("codec", [0, 4])
def test_sealed_fields_are_sealed_anew_and_keep_their_producer(
    stage: Stage, tmp_path: Path, codec: int
) -> None:
    config = filter_config(tmp_path / "keks", "old", mode="fields", sealed_fields=["email"])
    own = [RECORDS[0]._replace(value=b'{"email":"SECRET"}'), RECORDS[1]]
    data = EncryptionFilter(config, HERE.cluster, HERE.topic).sealed(
        batch_of(own, codec=codec, producer=(7, 1, 40))
    )
    ways = {"is_by_value": False, "accepts_plaintext": False, "sealing": FilterSealing("seal", config)}

    content = Resealer(HERE, stage.after, **ways).opened(memoryview(with_header(data, base_offset=70)))
    copied = Resealer(THERE, stage.after, **ways).sealed(content)

    assert read_columns(only_batch(content.data), plenty()).records() == own
    found = only_batch(copied)
    assert (found.codec, found.producer_id, found.base_sequence) == (codec, 7, 40)
    assert b"SECRET" not in b"".join(one or b"" for one in read_columns(found, plenty()).values)
    assert Resealer(THERE, stage.after, **ways).opened(memoryview(copied), by_new_kek=True) == content
    with pytest.raises(PipelineError, match="orders-0 at offset 0: it is not sealed by the new KEK"):
        Resealer(HERE, stage.after, **ways).opened(memoryview(data), by_new_kek=True)
    with pytest.raises(PipelineError, match="fields of values are sealed, and no EnvelopeEncryption"):
        stage.source(accepts_plaintext=True).opened(memoryview(data))


def test_plaintext_is_an_error_unless_it_is_accepted(stage: Stage) -> None:
    data = memoryview(batch_of(RECORDS, codec=4, base_offset=8))

    for is_by_value in (False, True):
        with pytest.raises(PipelineError, match=r"orders-0 at offset 8: .* not sealed"):
            stage.source(is_by_value=is_by_value).opened(data)
        content = stage.source(is_by_value=is_by_value, accepts_plaintext=True).opened(data)
        copied = stage.copy(is_by_value=is_by_value).sealed(content)
        assert stage.copy(is_by_value=is_by_value).opened(memoryview(copied), by_new_kek=True) == content


def test_a_copy_that_is_under_the_old_kek_is_an_error(stage: Stage) -> None:
    stored = stage.stored(Content(batch_of(RECORDS), False, 0))

    with pytest.raises(PipelineError, match="not sealed by the new KEK"):
        stage.source().opened(stored, by_new_kek=True)


def test_what_a_copy_could_not_have_is_refused(stage: Stage) -> None:
    append_time = packed_again(
        bytes(stage.stored(Content(batch_of(RECORDS), False, 0))), 0, 1_800_000_000_000
    )
    with pytest.raises(PipelineError, match="append time"):
        stage.source().opened(memoryview(append_time))
    batch = parse(batch_of([RECORDS[0]._replace(key=b"BFST\x01\x03\x02\x00")]))
    with pytest.raises(PipelineError, match="keys of records are sealed"):
        stage.source(is_by_value=True, accepts_plaintext=True).opened(batch.data)
    spoilt = bytearray(stage.stored(Content(batch_of(RECORDS), False, 0)))
    spoilt[spoilt.index(b"BFST") + 120] ^= 1
    with pytest.raises(BrokenSeal):
        stage.source().opened(memoryview(with_header(bytes(spoilt))))


def test_a_batch_without_its_producer_keeps_its_records(stage: Stage) -> None:
    data = produced(random.Random(1), 5, 4, TRANSACTIONAL)

    bare = parse(without_producer(data))

    assert (bare.producer_id, bare.producer_epoch, bare.base_sequence) == (-1, -1, -1)
    assert not bare.is_transactional
    assert bytes(bare.data[61:]) == data[61:]
    assert build_batch(bare, read_columns(bare, plenty()), plenty())

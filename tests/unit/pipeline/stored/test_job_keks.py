from pathlib import Path

import pytest

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.encryption.kek import Kek
from bifrost.encryption.sealing_key import read_sealing_key
from bifrost.pipeline.stored.job_keks import JobKeys, open_kek
from bifrost.pipeline.stored.kek_texts import read_kek
from support.records.filtered_batches import wrapped_sealing_key
from support.records.stored_batches import write_keks

ORDERS = DekContext("cluster", "orders")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_keks(tmp_path / "keks", ("old", 1), ("new", 2))


def source(path: Path, key: str) -> Kek:
    return read_kek(f"file:{path}#{key}")


def test_each_kind_of_kek_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    vault = Kek("vault", "pay", address="https://vault:8200", mount="a/transit", token_file="t")
    kms = Kek("aws-kms", "alias/pay", region="eu-central-1")

    assert [open_kek(one).writing.name for one in (source(path, "old"), vault, kms)] == [
        "file:old",
        "vault:a/transit/pay",
        "aws-kms:alias/pay",
    ]


def test_a_kek_opens_with_those_that_its_filter_names_beside_it(path: Path) -> None:
    wrapped = JobKeys((), source(path, "old")).writing(ORDERS).header

    keys = JobKeys((source(path, "new")._replace(also_opens=("old",)),))

    assert keys.reading(ORDERS, wrapped).wrapped.kek == "file:old"


def test_deks_of_each_kek_that_the_job_was_given_are_opened(path: Path) -> None:
    before, after = JobKeys((), source(path, "old")), JobKeys((source(path, "old"),), source(path, "new"))
    old, new = before.writing(ORDERS), after.writing(ORDERS)

    assert [after.reading(ORDERS, one.header).wrapped.kek for one in (old, new)] == ["file:old", "file:new"]
    assert [after.is_of_seals(one.header) for one in (old, new)] == [False, True]
    with pytest.raises(UnknownKek, match="given no KEK of 'file:new'"):
        before.reading(ORDERS, new.header)
    with pytest.raises(UnknownKek, match="for this topic"):
        after.reading(DekContext("cluster", "others"), old.header)
    after.close()


def test_the_key_of_a_topic_is_opened_by_the_kek_that_wraps_it(path: Path) -> None:
    sealing = read_sealing_key(wrapped_sealing_key(path, "old"))
    before, after = JobKeys((source(path, "old"),)), JobKeys((), source(path, "new"))

    found = before.topic_key(ORDERS, sealing)

    assert found.key_id == before.topic_key(ORDERS, sealing).key_id
    assert found.key_id != before.topic_key(DekContext("cluster", "others"), sealing).key_id
    assert not after.is_of_seals(sealing.wrapped.as_bytes())
    with pytest.raises(UnknownKek, match="given no KEK of 'file:old'"):
        after.topic_key(ORDERS, sealing)


def test_a_key_file_that_others_may_read_is_not_used(path: Path) -> None:
    path.chmod(0o644)

    with pytest.raises(KekUnavailable, match="chmod 600"):
        JobKeys((), source(path, "old"))

from pathlib import Path

import pytest

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import KekUnavailable, UnknownKek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.job_keks import JobKeys, KekSource, open_kek, read_kek
from support.records.stored_batches import write_keks

ORDERS = DekContext("cluster", "orders")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_keks(tmp_path / "keks", ("old", 1), ("new", 2))


def source(path: Path, key: str) -> KekSource:
    return read_kek(f"file:{path}#{key}")


def test_each_kind_of_kek_is_read_and_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    vault = read_kek("vault:https://vault:8200#a/transit/pay", token_file="t", namespace="team")
    kms = read_kek("aws-kms:eu-central-1#alias/pay", endpoint_url="http://localhost:1")

    assert (vault.where, vault.key, vault.token_file) == ("https://vault:8200", "a/transit/pay", "t")
    assert [open_kek(one).name for one in (source(path, "old"), vault, kms)] == [
        "file:old",
        "vault:a/transit/pay",
        "aws-kms:alias/pay",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("payments", "names no KEK"),
        ("file:/keks", "names no KEK"),
        ("gcp:eu#a", "names no KEK"),
        ("vault:https://v#transit/a", "needs --vault-token-file"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        read_kek(text)
    with pytest.raises(PipelineError, match="MOUNT/NAME"):
        read_kek("vault:v#pay", token_file="t")


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


def test_a_key_file_that_others_may_read_is_not_used(path: Path) -> None:
    path.chmod(0o644)

    with pytest.raises(KekUnavailable, match="chmod 600"):
        JobKeys((), source(path, "old"))

import gzip
import io
import json
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark import executor_packages
from bifrost.pipeline.spark.executor_packages import ABOUT, about, check_packages, write_packages


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack what the codec needs alone: all takes seconds."""
    found = [distribution(name) for name in ("bifrost-kafka", "cramjam")]
    monkeypatch.setattr(executor_packages, "_needed", lambda: iter(found))


def test_what_executors_import_is_needed_with_all_that_it_requires() -> None:
    names = [one.metadata["Name"].lower().replace("_", "-") for one in executor_packages._needed()]

    assert names[0] == "bifrost-kafka"
    assert len(names) == len(set(names))
    assert {"cramjam", "cryptography", "cffi", "pyarrow", "pandas", "numpy", "pydantic-core", "boto3"} <= set(
        names
    )
    assert {"pyspark", "py4j", "pytest", "cython", "matplotlib", "fastapi", "uvloop"}.isdisjoint(names)


@pytest.mark.usefixtures("small")
def test_the_compiled_codec_works_where_nothing_else_is_installed(tmp_path: Path) -> None:
    out = tmp_path / "jobs.tar.gz"
    assert write_packages(out) == 2
    with tarfile.open(out) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "unpacked", filter="data")

    assert names[0] == ABOUT
    assert not [one for one in names if one.endswith((".pyx", ".c")) or "__pycache__" in one]
    code = "import bifrost.records.codec.client_batch as one; print(one.__file__)"
    bare = [sys._base_executable, "-S", "-c", code]  # type: ignore[attr-defined]
    environment = {"PYTHONPATH": str(tmp_path / "unpacked")}
    done = subprocess.run(bare, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path / "unpacked"))


@pytest.mark.usefixtures("small")
def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_packages(tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b"]


def archive_of(path: Path, name: str, content: bytes) -> str:
    with gzip.open(path, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return str(path)


def test_an_archive_of_another_release_or_python_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    check_packages(archive_of(path, ABOUT, json.dumps(about()).encode()))
    check_packages("hdfs:///jobs.tar.gz")

    for content, why in (
        (json.dumps(about() | {"python": "3.9"}).encode(), "is for python 3.9"),
        (json.dumps(about() | {"bifrost": "0.0"}).encode(), "is for bifrost 0.0"),
        (b"[]", "no archive of"),
        (b"{", "cannot be read"),
    ):
        with pytest.raises(PipelineError, match=why):
            check_packages(archive_of(path, ABOUT, content))
    with pytest.raises(PipelineError, match="no archive of"):
        check_packages(archive_of(path, "another", b"{}"))
    path.write_bytes(b"no archive")
    with pytest.raises(PipelineError, match="cannot be read"):
        check_packages(str(path))


def test_an_archive_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="No such file"):
        write_packages(tmp_path / "none" / "jobs.tar.gz")

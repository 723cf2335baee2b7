"""Jars from a repository that is a directory (`file://`): locked, checked, cached, refused."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bifrost.jars import locked_jars
from bifrost.jars.errors import JarError
from bifrost.jars.lock import format_lock
from bifrost.jars.locked_jars import LockedJar

COORDINATES = ["org.example:app:1.0"]
CONTENTS = {"org.example:app:1.0": b"app" * 1000, "org.example.sub:lib:2.1:linux": b"lib"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, an empty cache and a lock of two jars, all under one temporary directory."""
    directory = tmp_path / "repository"
    locks = tmp_path / "locks"
    locks.mkdir()
    locked = []
    for coordinate, content in CONTENTS.items():
        locked.append(LockedJar(coordinate, hashlib.sha256(content).hexdigest(), len(content)))
        path = directory / locked[-1].path
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    locks.joinpath(locked_jars.lock_name(COORDINATES)).write_text(format_lock(COORDINATES, [], locked))
    monkeypatch.setattr(locked_jars, "LOCKS", locks)
    monkeypatch.setattr(locked_jars, "DOWNLOAD_ATTEMPTS", 1)
    monkeypatch.setenv(locked_jars.REPOSITORY_VARIABLE, directory.as_uri())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return directory


@pytest.fixture
def app_jar(repository: Path) -> Path:
    return repository / "org/example/app/1.0/app-1.0.jar"


def cached_files() -> list[str]:
    return sorted(path.name for path in locked_jars.cache_directory().rglob("*") if path.is_file())


def test_downloads_what_is_locked_and_says_how_far_it_is(repository: Path) -> None:
    told: list[str] = []

    paths = locked_jars.resolve(COORDINATES, progress=told.append)

    assert [path.read_bytes() for path in paths] == list(CONTENTS.values())
    assert (
        paths[1].relative_to(locked_jars.cache_directory()).as_posix()
        == "org/example/sub/lib/2.1/lib-2.1-linux.jar"
    )
    assert sorted(line.split()[0] for line in told) == ["app-1.0.jar", "lib-2.1-linux.jar"]
    assert [line.split()[1] for line in told] == ["1/2", "2/2"]
    assert cached_files() == ["app-1.0.jar", "lib-2.1-linux.jar"]


def test_cached_jars_need_no_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = locked_jars.resolve(COORDINATES)
    monkeypatch.setenv(locked_jars.REPOSITORY_VARIABLE, "file:///nowhere")
    told: list[str] = []

    assert locked_jars.resolve(COORDINATES, progress=told.append) == first
    assert told == []


def test_cut_file_in_the_cache_is_downloaded_again(repository: Path) -> None:
    path = locked_jars.resolve(COORDINATES)[0]
    path.write_bytes(path.read_bytes()[:-1])

    assert locked_jars.resolve(COORDINATES)[0].read_bytes() == CONTENTS["org.example:app:1.0"]


@pytest.mark.parametrize(
    "change", [lambda old: b"x" + old[1:], lambda old: old + b"x"], ids=["other", "longer"]
)
def test_another_jar_than_the_locked_one_is_refused(app_jar: Path, change: Callable[[bytes], bytes]) -> None:
    app_jar.write_bytes(change(app_jar.read_bytes()))

    with pytest.raises(
        JarError, match=r"org\.example:app:1\.0 is not the jar that was locked: refused \(SHA-256 "
    ):
        locked_jars.resolve(COORDINATES)

    assert "app-1.0.jar" not in cached_files()
    assert not [name for name in cached_files() if name.endswith(".part")]


def test_download_that_ends_early_is_named(app_jar: Path) -> None:
    app_jar.write_bytes(app_jar.read_bytes()[:10])

    with pytest.raises(JarError, match=r"cannot download org\.example:app:1\.0 from file:.*10 of 3000 bytes"):
        locked_jars.resolve(COORDINATES)


def test_missing_jar_names_repository_and_remedy(app_jar: Path) -> None:
    app_jar.unlink()

    with pytest.raises(
        JarError, match=r"org\.example:app:1\.0 from file:.*; set BIFROST_MAVEN_REPOSITORY to a mirror"
    ):
        locked_jars.resolve(COORDINATES)


def test_lost_connection_is_tried_again(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_jars, "DOWNLOAD_ATTEMPTS", 2)
    download, lost = locked_jars._download_once, []

    def lose_the_first(jar: LockedJar, *rest: object) -> None:
        if not lost:
            lost.append(jar.coordinate)
            raise ConnectionResetError("reset")
        download(jar, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(locked_jars, "_download_once", lose_the_first)

    assert len(locked_jars.resolve(COORDINATES)) == 2
    assert len(lost) == 1


def test_two_at_once_do_not_disturb_each_other(repository: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: locked_jars.resolve(COORDINATES), range(4)))

    assert all([path.read_bytes() for path in paths] == list(CONTENTS.values()) for paths in results)
    assert cached_files() == ["app-1.0.jar", "lib-2.1-linux.jar"]


def test_unlocked_coordinates_are_refused_with_the_command_that_locks_them(repository: Path) -> None:
    with pytest.raises(JarError, match=re.escape("python -m bifrost.jars.lock org.example:app:9")):
        locked_jars.resolve(["org.example:app:9"])


def test_lock_of_another_group_is_not_taken(repository: Path) -> None:
    with pytest.raises(JarError, match=r"app-1\.0\.toml locks \['org\.example:app:1\.0'\]"):
        locked_jars.resolve(["com.other:app:1.0"])


@pytest.mark.parametrize("coordinate", ["app", "org.example:app", "org.example::1.0"])
def test_no_coordinate_is_said_to_be_none(coordinate: str) -> None:
    with pytest.raises(JarError, match="write group:artifact:version"):
        locked_jars.resolve([coordinate])


def test_repository_must_be_a_url(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(locked_jars.REPOSITORY_VARIABLE, "mirror.example.com/maven")

    with pytest.raises(JarError, match=r"BIFROST_MAVEN_REPOSITORY=mirror\.example\.com/maven is no URL"):
        locked_jars.resolve(COORDINATES)


def test_unwritable_cache_is_named(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(JarError, match=r"cannot keep jars in .*Not a directory; set XDG_CACHE_HOME"):
        locked_jars.resolve(COORDINATES)


@pytest.mark.parametrize("lock", sorted(locked_jars.LOCKS.glob("*.toml")), ids=lambda path: path.stem)
def test_committed_lock_is_complete_and_holds_no_url(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    coordinates = re.findall(r'"([^"]+)"', text.split("coordinates = ")[1].splitlines()[0])

    locked = locked_jars.read_lock(coordinates)

    assert lock.name == locked_jars.lock_name(coordinates)
    assert set(coordinates) <= {jar.coordinate for jar in locked}
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) and jar.bytes > 0 for jar in locked)
    assert len({jar.path for jar in locked}) == len(locked)
    assert "://" not in text

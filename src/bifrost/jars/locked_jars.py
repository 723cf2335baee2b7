"""Jars by Maven coordinates: locked, downloaded once, checked against their SHA-256, kept in a cache.

A lock file in `locks/` names every jar that a set of coordinates needs, with its size and SHA-256 and no
URL; it is written by `lock.py`, its counterpart, which asks `jgo` to resolve the coordinates. So using jars
needs no resolution: a cached jar is used without the network, a missing one is downloaded in parallel from
the Maven repository, and one whose sum differs is refused. Coordinates without a lock file are refused too.

The repository is Maven Central, or the one named by the environment variable BIFROST_MAVEN_REPOSITORY (a
mirror's URL). The cache is `$XDG_CACHE_HOME/bifrost/maven` (`~/.cache/bifrost/maven`), laid out as a Maven
repository.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from bifrost.jars.errors import JarError

LOCKS = Path(__file__).parent / "locks"
"""One file per set of coordinates, named by `lock_name`."""
REPOSITORY_VARIABLE = "BIFROST_MAVEN_REPOSITORY"
PARALLEL_DOWNLOADS = 8
"""Connections at once: a jar is small, most of its time is the round trip."""
DOWNLOAD_TIMEOUT_S = 30
"""Time without data on a connection after which an attempt is given up, in seconds."""
DOWNLOAD_ATTEMPTS = 3
"""A registry drops a connection now and then; three times in a row is an outage."""
_CHUNK_BYTES = 256 * 1024
_SLF4J_SIMPLE = "org.slf4j:slf4j-simple:1.7.36"
_JACKSON = "com.fasterxml.jackson.core:jackson-databind:2.21.2"


@dataclass(frozen=True, slots=True)
class LockedJar:
    """One jar of a lock file."""

    coordinate: str
    """`group:artifact:version`, or `group:artifact:version:classifier`."""
    sha256: str
    """Lower-case hexadecimal."""
    bytes: int
    """The jar's length in bytes: a cached file of another length is not used."""

    @property
    def path(self) -> str:
        """The jar's path inside a Maven repository, with forward slashes."""
        group, artifact, version, *classifier = self.coordinate.split(":")
        name = "-".join([artifact, version, *classifier])
        return f"{group.replace('.', '/')}/{artifact}/{version}/{name}.jar"


def client_coordinates(version: str) -> list[str]:
    """Return what a Java client of Kafka `version` needs; its jar carries Kafka's message definitions."""
    return [f"org.apache.kafka:kafka-clients:{version}"]


def converter_coordinates(version: str) -> list[str]:
    """Return what Kafka's own `*JsonConverter` classes need: the clients and Jackson."""
    return [*client_coordinates(version), _JACKSON]


def broker_coordinates(version: str) -> list[str]:
    """Return what a broker of Kafka `version` needs, with a logger that writes to standard error."""
    return [f"org.apache.kafka:kafka_2.13:{version}", _SLF4J_SIMPLE]


def tool_coordinates(version: str) -> list[str]:
    """Return what Kafka's command-line tools of `version` need (without Kafka Connect)."""
    return [f"org.apache.kafka:kafka-tools:{version}", _SLF4J_SIMPLE]


def resolve(coordinates: Sequence[str], *, progress: Callable[[str], None] | None = None) -> list[Path]:
    """Return the jars that `coordinates` need, downloading those that the cache lacks.

    Args:
        coordinates: `group:artifact:version`, in any order; there must be a lock file for exactly this set.
        progress: called in this thread with `<file name> <i>/<n>` after each download; not at all
            when every jar is cached.
    Returns:
        Existing files, those of `coordinates` first, in the lock file's order.
    Raises:
        JarError: there is no lock file, a download failed, or a jar is not the one that was locked.
    """
    jars = read_lock(coordinates)
    cache = cache_directory()
    missing = [jar for jar in jars if not _is_cached(jar, cache)]
    if missing:
        try:
            cache.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JarError(f"cannot keep jars in {cache}: {error.strerror}; set XDG_CACHE_HOME") from error
        _download_all(missing, cache, progress)
    return [cache / jar.path for jar in jars]


def cache_directory() -> Path:
    """Return the directory of downloaded jars, laid out as a Maven repository. It may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bifrost" / "maven"


def lock_name(coordinates: Sequence[str]) -> str:
    """Return the file name of the lock of `coordinates`, whatever their order.

    Raises:
        JarError: a coordinate is not `group:artifact:version`.
    """
    names = []
    for coordinate in sorted(coordinates):
        parts = coordinate.split(":")
        if len(parts) < 3 or not all(parts):
            raise JarError(f"{coordinate!r} is no Maven coordinate: write group:artifact:version")
        names.append("-".join(parts[1:]))
    return "+".join(names) + ".toml"


def read_lock(coordinates: Sequence[str]) -> list[LockedJar]:
    """Return the jars locked for `coordinates`.

    Raises:
        JarError: nothing is locked for them.
    """
    file = LOCKS / lock_name(coordinates)
    if not file.is_file():
        wanted = " ".join(coordinates)
        raise JarError(f"no lock file for {wanted}: write it: python -m bifrost.jars.lock {wanted}")
    lock = tomllib.loads(file.read_text(encoding="utf-8"))
    if sorted(lock["coordinates"]) != sorted(coordinates):
        raise JarError(f"{file.name} locks {lock['coordinates']}, not {sorted(coordinates)}")
    return [LockedJar(entry["jar"], entry["sha256"], entry["bytes"]) for entry in lock["jars"]]


def _is_cached(jar: LockedJar, cache: Path) -> bool:
    # A file gets its name only after its sum was checked: its length shows whether it was cut since.
    try:
        return (cache / jar.path).stat().st_size == jar.bytes
    except OSError:
        return False


def _download_all(jars: Sequence[LockedJar], cache: Path, progress: Callable[[str], None] | None) -> None:
    """Download `jars` into `cache`, some at a time; the first failure ends the others."""
    repository = _repository()
    cancelled = threading.Event()
    with ThreadPoolExecutor(PARALLEL_DOWNLOADS, thread_name_prefix="jars") as pool:
        # The largest first: the last connection to finish is then a short one.
        by_size = sorted(jars, key=lambda jar: -jar.bytes)
        futures: dict[Future[None], LockedJar] = {
            pool.submit(_download, jar, cache, repository, cancelled): jar for jar in by_size
        }
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress is not None:
                    progress(f"{futures[future].path.rpartition('/')[2]} {done}/{len(jars)}")
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _repository() -> str:
    configured = os.environ.get(REPOSITORY_VARIABLE)
    if configured:
        if not configured.startswith(("http://", "https://", "file://")):
            raise JarError(f"{REPOSITORY_VARIABLE}={configured} is no URL: write https://… or file://…")
        return configured.rstrip("/")
    try:
        from jgo.constants import MAVEN_CENTRAL_URL
    except ImportError as error:
        raise JarError("jgo is not installed: pip install '.[embedded]' in a clone of Bifrost") from error
    return str(MAVEN_CENTRAL_URL)


def _download(jar: LockedJar, cache: Path, repository: str, cancelled: threading.Event) -> None:
    for attempt in range(1, DOWNLOAD_ATTEMPTS + 1):
        try:
            return _download_once(jar, cache, f"{repository}/{jar.path}", cancelled)
        except urllib.error.HTTPError as error:
            # Another try would get 4xx again; 429 and 5xx may be temporary.
            if (error.code < 500 and error.code != 429) or attempt == DOWNLOAD_ATTEMPTS:
                raise JarError(_failed(jar, repository, f"HTTP {error.code} {error.reason}")) from error
        except (OSError, HTTPException) as error:
            if attempt == DOWNLOAD_ATTEMPTS:
                reason = error.reason if isinstance(error, urllib.error.URLError) else error
                raise JarError(_failed(jar, repository, str(reason) or type(reason).__name__)) from error
        if cancelled.wait(attempt):
            break
    return None


def _failed(jar: LockedJar, repository: str, reason: str) -> str:
    remedy = f"set {REPOSITORY_VARIABLE} to a mirror if that is not to be reached"
    return f"cannot download {jar.coordinate} from {repository}: {reason}; {remedy}"


def _download_once(jar: LockedJar, cache: Path, url: str, cancelled: threading.Event) -> None:
    """Fetch `url` beside its place in the cache, check it, then give it its name in one step.

    Two processes may do this at once: each writes a file of its own, the later
    name wins, and the bytes are the same.
    """
    target = cache / jar.path
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    received = 0
    handle, part = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        response = urllib.request.urlopen(url, timeout=DOWNLOAD_TIMEOUT_S)
        with os.fdopen(handle, "wb") as file, response:
            # One byte more than locked is enough to know that this is another file.
            while received <= jar.bytes and (chunk := response.read(_CHUNK_BYTES)):
                if cancelled.is_set():
                    return
                received += len(chunk)
                digest.update(chunk)
                file.write(chunk)
        if received < jar.bytes:
            raise ConnectionError(f"{received} of {jar.bytes} bytes arrived")
        if digest.hexdigest() != jar.sha256:
            raise JarError(
                f"{jar.coordinate} is not the jar that was locked: refused"
                f" (SHA-256 {digest.hexdigest()}, the lock says {jar.sha256})"
            )
        os.chmod(part, 0o644)  # mkstemp's 0600 would keep a shared cache to one user
        os.replace(part, target)
    finally:
        Path(part).unlink(missing_ok=True)

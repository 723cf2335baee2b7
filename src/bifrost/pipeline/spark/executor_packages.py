"""Packs what executors import into one archive that Spark sends along: Bifrost, its compiled modules, and packages.

Spark unpacks it in the directory of each executor (`spark.archives`), whose Python finds the packages there by
`PYTHONPATH`. So nodes need a Python of the same minor version for the same platform, and nothing installed in it.
PySpark is not packed: executors have that of their Spark.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

import bifrost
from bifrost.pipeline.errors import PipelineError

NAME = "bifrost-packages"
"""The directory that Spark unpacks an archive to; no package is called so."""
ABOUT = f"{NAME}.json"
"""The file of an archive that says what it was made for."""

_OWN = "bifrost-kafka"
_EXTRAS = ("encryption", "schemas", "transforms", "pipeline")
_NOT_SENT = frozenset({"pyspark", "py4j", "jgo", "matplotlib", "uvloop", "prometheus-client", "h11"})
"""What only the driver or a gateway imports, or what Spark brings."""
_NOT_IMPORTED = frozenset({"__pycache__", "tests", "include"})
"""Directories of packages that no program imports."""
_SOURCES = frozenset({".c", ".pyx", ".pxd", ".pyi", ".pyc"})
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?(.*)$", re.DOTALL)
_EXTRA = re.compile(r"extra\s*==\s*[\"']([^\"']+)[\"']")


def about() -> dict[str, str]:
    """Return what an archive of this process is for."""
    return {
        "bifrost": version(_OWN),
        "python": "{}.{}".format(*sys.version_info),
        "platform": f"{sysconfig.get_platform()}",
        "libc": " ".join(platform.libc_ver()),
    }


def write_packages(out: Path) -> int:
    """Write the archive, and return how many packages it has.

    The same packages give the same bytes.

    Raises:
        PipelineError: it cannot be written, or Bifrost is not installed.
    """
    packages = list(_needed())
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with (
            temporary.open("wb") as file,
            gzip.GzipFile("", "wb", 1, file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        ):
            _add_bytes(archive, ABOUT, json.dumps(about()).encode())
            for name, path in sorted(_files(packages)):
                _add_bytes(archive, name, path.read_bytes())
        temporary.replace(out)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise PipelineError(f"{out}: {error.strerror or error}") from error
    return len(packages)


def check_packages(archive: str) -> None:
    """Check that an archive on this machine is one for executors of this Python; others Spark reads by itself.

    Raises:
        PipelineError: it is none, or for another release or Python.
    """
    path = Path(archive)
    if "://" in archive:
        return
    try:
        with tarfile.open(path, "r|gz") as opened:
            first = opened.next()
            found = opened.extractfile(first) if first is not None and first.name == ABOUT else None
            made_for = json.loads(found.read()) if found is not None else None
    except (OSError, EOFError, tarfile.TarError, ValueError) as error:
        raise PipelineError(f"{archive} cannot be read: {error}") from error
    if not isinstance(made_for, dict):
        raise PipelineError(f"{archive} is no archive of `bifrost pipeline packages`")
    for what, own in about().items():
        if what in ("bifrost", "python") and made_for.get(what) != own:
            raise PipelineError(
                f"{archive} is for {what} {made_for.get(what)}, and this is {own}: write it anew"
            )


def _needed() -> Iterator[Distribution]:
    """Yield the installed packages that executors may import, each once; Bifrost itself first."""
    seen: set[tuple[str, str]] = set()
    given: set[str] = set()
    left = [(_OWN, one) for one in ("", *_EXTRAS)]
    while left:
        name, extra = left.pop(0)
        if (name, extra) in seen or name in _NOT_SENT:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            if name == _OWN:
                how = "pip install '.[pipeline]' in a clone of Bifrost"
                raise PipelineError(f"{_OWN} is not installed: {how}") from None
            continue  # An extra that is not installed, or a requirement of another platform.
        if name not in given:
            given.add(name)
            yield found
        left += _required(found, extra)


def _required(package: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    """Yield the names and extras that a package requires for one of its extras; an empty one: always."""
    for text in package.requires or ():
        matched = _REQUIREMENT.match(text)
        assert matched is not None, text
        name, extras, rest = matched.groups()
        wanted = _EXTRA.findall(rest.partition(";")[2])
        if extra in (wanted or [""]):
            for one in ("", *(extras or "").split(",")):
                yield re.sub(r"[-_.]+", "-", name).lower(), one.strip()


def _files(packages: list[Distribution]) -> Iterator[tuple[str, Path]]:
    """Yield the names in the archive and the paths of all files."""
    own, *others = packages
    del own  # Its files are those that this process has imported, also in a clone.
    root = Path(bifrost.__file__).parent
    for path in root.rglob("*"):
        if path.is_file() and _is_imported(path.relative_to(root)):
            yield str(Path(root.name) / path.relative_to(root)), path
    for package in others:
        for one in package.files or ():
            path = Path(str(package.locate_file(one)))
            if ".." not in one.parts and _is_imported(Path(str(one))) and path.is_file():
                yield str(one), path


def _is_imported(path: Path) -> bool:
    return _NOT_IMPORTED.isdisjoint(path.parts) and path.suffix not in _SOURCES


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    archive.addfile(entry, io.BytesIO(data))

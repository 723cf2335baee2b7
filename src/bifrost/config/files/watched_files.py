"""Finds out whether the files of a configuration have changed on disk."""

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

Signature = tuple[tuple[str, int, int, int] | None, ...]
"""For each file its path, inode, size and time of the last change in nanoseconds; None for a missing file."""


def files_of(section: BaseModel) -> Iterator[str]:
    """Yield every file that a configuration names, as written there: the keys that end in `_file`."""
    for key, value in section:
        if key.endswith("_file") and isinstance(value, str):
            yield value
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, BaseModel):
                yield from files_of(inner)


def signature(path: Path, named: frozenset[str]) -> Signature:
    """Return a value that changes when the configuration at `path`, or one of the files that it names, changes.

    A link counts as its target, so that a mounted Kubernetes secret changes when its link points to a new directory.
    """
    is_folder = path.is_dir()
    try:
        own = [path, *sorted(path.iterdir())] if is_folder else [path]
    except OSError:
        own = [path]
    folder = path if is_folder else path.parent
    return tuple(_signature_of(one) for one in [*own, *(folder / name for name in sorted(named))])


def _signature_of(path: Path) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns

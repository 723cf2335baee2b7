"""Finds out whether the files of a configuration have changed on disk."""

import os
from collections.abc import Iterator, Sequence
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


def signature(path: Path, named: Sequence[str]) -> Signature:
    """Return a value that changes when the configuration at `path`, or one of the files `named`, changes.

    A link counts as its target, so that a mounted Kubernetes secret changes when its link points to a new directory.
    """
    try:
        own = [path, *sorted(path.iterdir())] if path.is_dir() else [path]
    except OSError:
        own = [path]
    return tuple(_signature_of(one) for one in (*map(str, own), *named))


def _signature_of(path: str) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_ino, found.st_size, found.st_mtime_ns

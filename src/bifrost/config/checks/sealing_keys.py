"""Reads the files of wrapped keys by which filters seal keys of records: `sealing_key_file` of a tenant's `filters`."""

import re
from collections.abc import Iterator
from pathlib import Path

from bifrost.config.checks.key_files import read_key_files
from bifrost.config.files.reading import UnreadableError, read_regular_file
from bifrost.config.loc import Loc
from bifrost.config.records.encryption_config import SEALING_KEY_FORM

MAX_FILE_BYTES = 16_384
"""A larger file is a wrong path: what a KEK wraps has some hundred bytes."""


def read_sealing_keys(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the wrapped key beside each `sealing_key_file`, and yield what is wrong; see `read_key_files`."""
    return read_key_files(
        data, folder, "sealing_key", ("a wrapped key", "the wrapped key"), read_sealing_key_file
    )


def read_sealing_key_file(path: Path) -> str:
    """Return the line of a file that has a wrapped key.

    Raises:
        UnreadableError: it cannot be read, or has none.
    """
    lines = read_regular_file(path, MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if len(found) != 1 or not re.fullmatch(SEALING_KEY_FORM, found[0]):
        raise UnreadableError("expected what `bifrost sealing-key create` writes")
    return found[0]

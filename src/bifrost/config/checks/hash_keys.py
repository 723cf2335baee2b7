"""Reads the files of the keys by which filters hash fields: `hash_key_file` of a tenant's `filters`."""

from collections.abc import Iterator
from pathlib import Path

from bifrost.config.checks.key_files import read_key_files
from bifrost.config.files.reading import UnreadableError, read_regular_file
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.loc import Loc

MIN_KEY_BYTES = 32
"""128 bits where the digits are hexadecimal: who does not have the key cannot hash guesses and compare."""

MAX_KEY_BYTES = 4096
"""A larger file is a wrong path."""


def read_hash_keys(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the key beside each `hash_key_file`, and yield what is wrong with the files; see `read_key_files`."""
    return read_key_files(data, folder, "hash_key", ("a secret", "the key"), _read)


def _read(path: Path) -> KeptSecret:
    key = read_regular_file(path, MAX_KEY_BYTES).strip()
    if len(key) < MIN_KEY_BYTES:
        raise UnreadableError(f"less than {MIN_KEY_BYTES} bytes: write random ones into it")
    return KeptSecret(key)

"""Reads the files of the keys by which filters hash fields: `hash_key_file` of a tenant's `filters`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bifrost.config.explain import STRAY_HINT, show_loc
from bifrost.config.files.reading import UnreadableError, path_hint, read_regular_file
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.loc import Loc

MIN_KEY_BYTES = 32
"""128 bits where the digits are hexadecimal: who does not have the key cannot hash guesses and compare."""

MAX_KEY_BYTES = 4096
"""A larger file is a wrong path."""


def read_hash_keys(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the key beside each `hash_key_file`, and yield what is wrong with the files.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
    """
    for at, config in filter_configs(data):
        if "hash_key" in config:
            hint = STRAY_HINT.replace("password_file", "hash_key_file").replace("a password", "a secret")
            yield (*at, "hash_key"), f"{show_loc((*at, 'hash_key'))}: {hint}"
            del config["hash_key"]
        name = config.get("hash_key_file")
        if not isinstance(name, str) or not name:
            continue
        path = folder / name
        try:
            config["hash_key"] = KeptSecret(_read(path))
        except UnreadableError as error:
            loc = (*at, "hash_key_file")
            yield loc, f"{show_loc(loc)}: file of the key {path}: {error}{path_hint(name, path)}"


def filter_configs(data: dict[str, object]) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """Yield the configs of all filters, as far as they are mappings, with their places."""
    for number, tenant in enumerate(_list(data.get("tenants"))):
        for place, one in enumerate(_list(tenant.get("filters"))):
            config = one.get("config")
            if isinstance(config, dict):
                yield ("tenants", number, "filters", place, "config"), config


def _list(value: object) -> list[dict[str, Any]]:
    """Return the elements, empty where they are no mappings: the model says what is wrong with those."""
    found = value if isinstance(value, list) else ()
    return [one if isinstance(one, dict) else {} for one in found]


def _read(path: Path) -> bytes:
    key = read_regular_file(path, MAX_KEY_BYTES).strip()
    if len(key) < MIN_KEY_BYTES:
        raise UnreadableError(f"less than {MIN_KEY_BYTES} bytes: write random ones into it")
    return key

"""Reads the files of wrapped keys by which filters seal keys of records: `sealing_key_file` of a tenant's `filters`."""

import re
from collections.abc import Iterator
from pathlib import Path

from bifrost.config.checks.hash_keys import filter_configs
from bifrost.config.explain import STRAY_HINT, show_loc
from bifrost.config.files.reading import UnreadableError, path_hint, read_regular_file
from bifrost.config.loc import Loc
from bifrost.config.records.encryption_config import SEALING_KEY_FORM

MAX_FILE_BYTES = 16_384
"""A larger file is a wrong path: what a KEK wraps has some hundred bytes."""


def read_sealing_keys(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Put the wrapped key beside each `sealing_key_file`, and yield what is wrong with the files.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
    """
    for at, config in filter_configs(data):
        if "sealing_key" in config:
            hint = STRAY_HINT.replace("password_file", "sealing_key_file").replace(
                "a password", "a wrapped key"
            )
            yield (*at, "sealing_key"), f"{show_loc((*at, 'sealing_key'))}: {hint}"
            del config["sealing_key"]
        name = config.get("sealing_key_file")
        if not isinstance(name, str) or not name:
            continue
        path = folder / name
        try:
            config["sealing_key"] = _read(path)
        except UnreadableError as error:
            loc = (*at, "sealing_key_file")
            yield loc, f"{show_loc(loc)}: file of the wrapped key {path}: {error}{path_hint(name, path)}"


def _read(path: Path) -> str:
    lines = read_regular_file(path, MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if len(found) != 1 or not re.fullmatch(SEALING_KEY_FORM, found[0]):
        raise UnreadableError("expected what `bifrost sealing-key create` writes")
    return found[0]

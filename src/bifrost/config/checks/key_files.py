"""Reads files that the configs of filters name, such as `hash_key_file`, and puts what they have beside them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bifrost.config.explain import STRAY_HINT, show_loc
from bifrost.config.files.reading import UnreadableError, path_hint
from bifrost.config.loc import Loc


def read_key_files(
    data: dict[str, object],
    folder: Path,
    setting: str,
    texts: tuple[str, str],
    read: Callable[[Path], object],
) -> Iterator[tuple[Loc, str]]:
    """Put the key beside each of its files, and yield what is wrong with them.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
        setting: what the key is put as; the setting that names its file ends in `_file`.
        texts: what must not stand in the configuration itself, and what the file has, for people.
        read: returns the key of a file, or raises UnreadableError.
    """
    name_of_file, (stray, content) = f"{setting}_file", texts
    for at, config in filter_configs(data):
        if setting in config:
            hint = STRAY_HINT.replace("password_file", name_of_file).replace("a password", stray)
            yield (*at, setting), f"{show_loc((*at, setting))}: {hint}"
            del config[setting]
        name = config.get(name_of_file)
        if not isinstance(name, str) or not name:
            continue
        path = folder / name
        try:
            config[setting] = read(path)
        except UnreadableError as error:
            loc = (*at, name_of_file)
            yield loc, f"{show_loc(loc)}: file of {content} {path}: {error}{path_hint(name, path)}"


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

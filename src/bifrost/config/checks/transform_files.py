"""Finds the files of users' transforms (`transform_file` of `filters`), and whether Arrow is there to run them."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from bifrost.config.checks.key_files import filter_configs
from bifrost.config.explain import show_loc
from bifrost.config.files.reading import UnreadableError, path_hint, read_regular_file
from bifrost.config.loc import Loc

MAX_FILE_BYTES = 1 << 20
"""Largest file of a transform; modules that it imports do not count."""

LIBRARY = "pyarrow"


def find_transform_files(data: dict[str, object], folder: Path) -> Iterator[tuple[Loc, str]]:
    """Make the path of each `transform_file` absolute, and yield what is wrong with the files.

    Args:
        data: the configuration as mappings, keys as in the file; it is changed.
        folder: where a relative path starts.
    """
    for at, config in filter_configs(data):
        if not config.keys() & {"transform_file", "entry_point"}:
            continue
        if find_spec(LIBRARY) is None:
            hint = "pip install '.[transforms]' in a clone of Bifrost"
            yield at, f"{show_loc(at)}: PythonTransform needs pyarrow, which is not installed: {hint}"
        name = config.get("transform_file")
        if not isinstance(name, str) or not name:
            continue
        path = folder / name
        try:
            read_regular_file(path, MAX_FILE_BYTES)
            config["transform_file"] = str(path.absolute())
        except UnreadableError as error:
            loc = (*at, "transform_file")
            yield loc, f"{show_loc(loc)}: file of the transform {path}: {error}{path_hint(name, path)}"

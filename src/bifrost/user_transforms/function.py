"""Loads the function of a user's transform, from a Python file or by the name of an entry point."""

import runpy
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

NAME = "transform"
GROUP = "bifrost.transforms"
"""The group of entry points."""

MAX_TEXT = 500


class LoadError(Exception):
    """There is no such function."""


def load_function(file: str | None, entry_point: str | None) -> Callable[..., Any]:
    """Return the function of a file, or of an entry point, whichever is given.

    Raises:
        LoadError: it cannot be loaded; the text says why.
    """
    try:
        if file is not None:
            found = runpy.run_path(file, run_name="bifrost_transform").get(NAME)
        else:
            (one,) = entry_points(group=GROUP, name=str(entry_point))
            found = one.load()
    except BaseException as error:
        raise LoadError(f"{place_of(error, file)}: {error}"[:MAX_TEXT]) from None
    if not callable(found):
        raise LoadError(f"{file or entry_point} has no function {NAME}(batch, context)")
    return found  # type: ignore[no-any-return]


def place_of(error: BaseException, file: str | None) -> str:
    """Return the kind of an error, and where in the user's file it came up. Its text may have content of records."""
    name = type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == file:
            return f"{name} in line {frame.lineno} of {Path(file).name}"
    return name

"""Imports libraries without the parts that a gateway never uses, which would stay in memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def import_structlog() -> Any:
    """Import structlog while Rich looks absent.

    Its module for colours imports Rich where that is installed: 5 MB that a gateway never uses.
    """
    hide = "rich" not in sys.modules
    if hide:
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import structlog
    finally:
        if hide:
            del sys.modules["rich"]
    return structlog


@contextmanager
def no_entry_points() -> Iterator[None]:
    """Let pydantic find no plugins within this context, in which its first model is made.

    It asks importlib.metadata for plugins, which imports the packages for e-mail, CSV and ZIP files: 1.6 MiB.
    """
    name = "importlib.metadata"
    if name in sys.modules:
        yield
        return
    stand_in: Any = ModuleType(name)
    stand_in.entry_points = lambda **_selected: ()
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        del sys.modules[name]

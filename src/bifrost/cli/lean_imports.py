"""Imports libraries without the parts that a gateway never uses, which would stay in memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def import_structlog() -> Any:
    """Import structlog while Rich looks absent, and with no more of pickle than its error.

    Its module for colours imports Rich where that is installed: 5 MB that a gateway never uses. Its loggers name the
    error of pickle, which alone takes 0.4 MiB.
    """
    pickle: Any = ModuleType("pickle")
    pickle.PicklingError = type("PicklingError", (Exception,), {})
    with _stand_in("rich", None), _stand_in("pickle", pickle):
        import structlog
    return structlog


@contextmanager
def lean_pydantic() -> Iterator[None]:
    """Let pydantic find no plugins and no time zones within this context, in which its first model is made.

    It asks importlib.metadata for plugins, which imports the packages for e-mail, CSV and ZIP files: 1.6 MiB. It
    imports zoneinfo for fields that no model of the gateway has, and that reads how Python was built: 0.3 MiB.
    """
    metadata: Any = ModuleType("importlib.metadata")
    metadata.entry_points = lambda **_selected: ()
    zoneinfo: Any = ModuleType("zoneinfo")
    zoneinfo.ZoneInfo = type("ZoneInfo", (), {})
    zoneinfo.ZoneInfoNotFoundError = type("ZoneInfoNotFoundError", (KeyError,), {})
    with _stand_in(metadata.__name__, metadata), _stand_in(zoneinfo.__name__, zoneinfo):
        yield


@contextmanager
def _stand_in(name: str, module: ModuleType | None) -> Iterator[None]:
    """Let a module that was not imported yet be another within this context; None: let it look absent."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = module  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]

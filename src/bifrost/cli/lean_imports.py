"""Imports libraries without the parts that a gateway never uses, which would stay in memory."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any


def import_structlog() -> Any:
    """Import structlog while Rich looks absent, without uuid, and with no more of pickle than its error.

    Its module for colours imports Rich where that is installed: 5 MB that a gateway never uses. Its loggers name the
    error of pickle, which alone takes 0.4 MiB. That for thread-local values asks for uuid, which asks for the platform:
    0.3 MiB.
    """
    pickle: Any = ModuleType("pickle")
    pickle.PicklingError = type("PicklingError", (Exception,), {})
    with ExitStack() as absent:
        for name, module in (("rich", None), ("pickle", pickle), ("uuid", ModuleType("uuid"))):
            absent.enter_context(_stand_in(name, module))
        import structlog
    return structlog


@contextmanager
def lean_pydantic() -> Iterator[None]:
    """Let pydantic find no plugins and no types that it need not know, within this context, in which its first model
    is made.

    It asks importlib.metadata for plugins, which imports the packages for e-mail, CSV and ZIP files: 1.6 MiB. For
    fields that no model of the gateway has it imports zoneinfo, which reads how Python was built, decimal, fractions
    and uuid: 1.1 MiB.
    """
    metadata: Any = ModuleType("importlib.metadata")
    metadata.entry_points = lambda **_selected: ()
    zoneinfo: Any = ModuleType("zoneinfo")
    zoneinfo.ZoneInfo = type("ZoneInfo", (), {})
    zoneinfo.ZoneInfoNotFoundError = type("ZoneInfoNotFoundError", (KeyError,), {})
    decimal: Any = ModuleType("decimal")
    decimal.Decimal = type("Decimal", (), {})
    fractions: Any = ModuleType("fractions")
    fractions.Fraction = type("Fraction", (), {})
    uuid: Any = ModuleType("uuid")
    uuid.UUID = type("UUID", (), {})
    with ExitStack() as absent:
        for module in (metadata, zoneinfo, decimal, fractions, uuid):
            absent.enter_context(_stand_in(module.__name__, module))
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

"""Rooms: which may import which, and which read no clock (ARCHITECTURE.md)."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.pages.source_tree import ROOT, SOURCE, cython_sources


def contract(name: str) -> dict[str, Any]:
    """Return a contract of import-linter."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return next(one for one in contracts["contracts"] if one["name"] == name)


def rooms_by_floor() -> dict[str, int]:
    """Return every room with its floor, which counts from below; import-linter checks that none is missing."""
    floors = enumerate(reversed(contract("Imports go down")["layers"]))
    return {room: floor for floor, layer in floors for room in re.findall(r"\w+", layer)}


def test_compiled_modules_import_only_what_is_below() -> None:
    """The contracts of import-linter see Python files only; this is the first of them for Cython's."""
    floors, upward = rooms_by_floor(), []
    for path in cython_sources():
        own = path.relative_to(SOURCE).parts[0]
        imported = re.findall(r"^\s*(?:from|c?import) bifrost\.(\w+)", path.read_text(encoding="utf-8"), re.M)
        upward += [f"{path}: {one}" for one in imported if one != own and floors[one] >= floors[own]]

    assert upward == []


DOES_IO = {
    "cli",
    "gateway",
    "control",
    "pipeline",
    "embedded",
    "keys",
    "registry",
    "jars",
    "user_transforms",
    "confined",
    "schema_process",
}
"""Rooms that read clocks and random bytes themselves; the code of all others takes them as arguments."""
CLOCK_MODULES = {"time", "random", "secrets", "uuid"}
CLOCK_CALLS = {
    "os": {"urandom", "getrandom", "times"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}
ENGINE_CLOCK = ("bifrost.forwarding.clock", "monotonic_ns")
READS_THE_ENGINE_CLOCK = {
    str(Path("forwarding", "work.py")): "work that pauses measures how long it has taken",
    "session/client_session.py": "a session measures what each message costs the gateway",
    "forwarding/quotas/mutations.py": "partitions are charged to budgets, which time fills",
    "forwarding/quotas/quotas.py": "the default of an argument, for sessions without a gateway",
    "session/limited_session.py": "a request waits as long as a debt takes to be paid",
    "session/held_frames.py": "frames that wait know when they came",
    "session/identified_session.py": "a session measures how long the gateway keeps a message",
}
"""Modules below the gateway that read the compiled engine's clock."""


def clocks_in(tree: ast.Module) -> set[str]:
    """Return what of a module reads a clock or a source of random numbers."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names} & CLOCK_MODULES
        elif isinstance(node, ast.ImportFrom):
            names = {one.name for one in node.names}
            if node.module in CLOCK_MODULES and not node.level:
                found.add(str(node.module))
            elif node.module == ENGINE_CLOCK[0] and ENGINE_CLOCK[1] in names:
                found.add(ENGINE_CLOCK[1])
            found |= names & CLOCK_CALLS.get(str(node.module), set())
        elif isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value).rpartition(".")[2]
            if node.attr in CLOCK_CALLS.get(owner, set()):
                found.add(f"{owner}.{node.attr}")
    return found


def test_below_the_gateway_clocks_and_randomness_are_arguments() -> None:
    clockless = sorted(rooms_by_floor().keys() - DOES_IO)
    paths = [path for room in clockless for path in sorted((SOURCE / room).rglob("*.py"))]
    found = {
        str(path.relative_to(SOURCE)): clocks
        for path in paths
        if (clocks := clocks_in(ast.parse(path.read_text(encoding="utf-8"))))
    }

    assert len(paths) > 150
    assert {f"bifrost.{room}" for room in clockless} == {*contract("Decisions do no I/O")["source_modules"]}
    assert found == {name: {ENGINE_CLOCK[1]} for name in READS_THE_ENGINE_CLOCK}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import time", {"time"}),
        ("from secrets import token_bytes", {"secrets"}),
        ("from bifrost.config.secrets import Secret", set()),
        ("import os\nkey = os.urandom(16)", {"os.urandom"}),
        ("from os import urandom", {"urandom"}),
        ("import datetime\nnow = datetime.datetime.now()", {"datetime.now"}),
        ("from bifrost.forwarding.clock import monotonic_ns", {"monotonic_ns"}),
    ],
)
def test_a_clock_is_found(code: str, expected: set[str]) -> None:
    assert clocks_in(ast.parse(code)) == expected

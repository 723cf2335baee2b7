"""What the event loop calls: found in the source, so that no test has to know of it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from support.pages.source_tree import SOURCE

GATEWAY = SOURCE / "gateway"

TARGETS = {
    "add_done_callback": 0,
    "add_reader": 1,
    "add_signal_handler": 1,
    "add_writer": 1,
    "call_at": 1,
    "call_later": 1,
    "call_soon": 0,
    "call_soon_threadsafe": 0,
    "connect_accepted_socket": 0,
    "create_connection": 0,
    "create_server": 0,
    "create_task": 0,
    "ensure_future": 0,
    "start_server": 0,
}
"""What makes the event loop call something later, and which argument that is."""

OF_PROTOCOLS = {
    "buffer_updated",
    "connection_lost",
    "connection_made",
    "data_received",
    "eof_received",
    "get_buffer",
    "pause_writing",
    "resume_writing",
}
TRIVIAL = {"abort", "cancel", "close", "discard", "set", "wait"}
"""Methods of the standard library, which do not raise here."""

_CYTHON_CALL = re.compile(rf"\.({'|'.join(TARGETS)})\((.*)\)")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def callbacks() -> dict[str, bool]:
    """Return what the event loop calls in the gateway, and whether it keeps its exceptions to itself.

    Each as `routing/router.py: deliver`; of a protocol's class, `clients/listener.py: TurnedAway.connection_made`.
    """
    found: dict[str, bool] = {}
    for path in sorted(GATEWAY.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, is_guarded in (*_targets(tree), *_of_protocols(tree)):
            place = f"{path.relative_to(GATEWAY)}: {name}"
            found[place] = is_guarded and found.get(place, True)
    for path in sorted(GATEWAY.rglob("*.pyx")):
        for match in _CYTHON_CALL.finditer(path.read_text(encoding="utf-8")):
            target = match[2].split(", ")[TARGETS[match[1]]]
            found[f"{path.relative_to(GATEWAY)}: {target.removeprefix('self.')}"] = False
    return found


def _targets(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    functions = {one.name: one for one in ast.walk(tree) if isinstance(one, Function)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = TARGETS.get(called)
        if place is None or len(node.args) <= place:
            continue
        target = node.args[place]
        while isinstance(target, ast.Call):  # Of a task; a partial function would be found as such.
            target = target.func
        name = ast.unparse(target).removeprefix("self.")
        last = name.rsplit(".", 1)[-1]
        function = functions.get(last)
        if function is None:
            yield name, name == "keep" or last in TRIVIAL
        else:
            yield name, is_guarded(function)


def _of_protocols(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any("asyncio." in ast.unparse(one) for one in node.bases):
            for method in node.body:
                if isinstance(method, Function) and method.name in OF_PROTOCOLS:
                    yield f"{node.name}.{method.name}", is_guarded(method)


def is_guarded(function: Function) -> bool:
    """Whether all of a function that may raise is where every exception is caught, or ends the connection."""
    return all(_is_safe(one) for one in function.body)


def _is_safe(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.With):
        return any("_ending()" in ast.unparse(one) for one in statement.items)
    if isinstance(statement, ast.Try):
        caught = [ast.unparse(one.type) for one in statement.handlers if one.type is not None]
        rest = (*statement.orelse, *statement.finalbody)
        return "Exception" in caught and all(_is_safe(one) for one in rest)
    if isinstance(statement, ast.If):
        is_simple = not _calls(statement.test)
        return is_simple and all(_is_safe(one) for one in (*statement.body, *statement.orelse))
    return not _calls(statement)


def _calls(node: ast.AST) -> bool:
    """Whether something is called, or taken apart or awaited, which may raise."""
    return any(isinstance(one, ast.Call | ast.Await | ast.Subscript | ast.Raise) for one in ast.walk(node))


def is_guarded_source(body: str) -> bool:
    """Return the same for a function with this body."""
    function = ast.parse("def one(self):\n" + textwrap.indent(body, "    ")).body[0]
    assert isinstance(function, Function)
    return is_guarded(function)

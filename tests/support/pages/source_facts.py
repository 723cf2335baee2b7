"""What the source code says of itself, read from its syntax: log lines, events of the journal, texts."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import bifrost

SOURCE = Path(bifrost.__file__).parent

_LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
_REPORTED = "internal_error"
"""The event that `report` of loop_guard.py logs; its further arguments are keys of the line."""
_WRITTEN_AS = {"exc_info": "exception"}
"""Keys that the log's processors rename."""
_OF_EVERY_LINE = {"timestamp", "level", "event", "worker"}
_OF_LIBRARIES = {"logger"}


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    """Return the syntax of every module of the package, with its path."""
    return tuple(
        (str(path.relative_to(SOURCE)), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    )


@cache
def texts() -> frozenset[str]:
    """Return every string that stands in the source code, and every name of an attribute, parameter or function."""
    found = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.arg | ast.keyword) and node.arg:
                found.add(node.arg)
    return frozenset(found)


def log_lines() -> dict[str, set[str]]:
    """Return the keys of every event that the gateway logs, by the event's name."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees():
        if path.startswith(("gateway/", "control/", "keys/")) or path == "cli/run.py":
            for scope in _functions(tree):
                for event, keys in _logged(scope):
                    found[event] |= keys
    return dict(found)


def log_keys() -> set[str]:
    """Return every key that a line of the log can have."""
    keys = set().union(*log_lines().values())
    return {_WRITTEN_AS.get(key, key) for key in keys} | _OF_EVERY_LINE | _OF_LIBRARIES


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _logged(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, set[str]]]:
    """Yield the events that a function logs, `write = log.debug if ... else log.info` included."""
    named: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] |= {
                key for one in ast.walk(node.value) if isinstance(one, ast.Dict) for key in _dict_keys(one)
            }
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            keys = {one.arg for one in node.keywords if one.arg}
            for one in node.keywords:
                if one.arg is None and isinstance(one.value, ast.Name):
                    keys |= named[one.value.id]
            called = ast.unparse(node.func)
            if called in {f"log.{level}" for level in _LEVELS} | {"write"}:
                yield str(node.args[0].value), keys
            elif called == "report":
                yield _REPORTED, keys | {"place"}


def _dict_keys(node: ast.Dict) -> Iterator[str]:
    for key in node.keys:
        if isinstance(key, ast.Constant):
            yield str(key.value)


def journal_events() -> set[tuple[str, str]]:
    """Return (type, outcome) of the journal's events in the code; the outcome is "" if it is computed."""
    found = set()
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                words = [_text(one) for one in node.args[:2]]
                if node.func.attr in {"event", "client_event", "note"} and len(words) == 2 and words[0]:
                    found.add((words[0], words[1]))
                elif node.func.attr == "note_drain":
                    found.add(("drain", words[0]))
            elif isinstance(node, ast.Dict):
                fields = {
                    key: _text(value) for key, value in zip(_dict_keys(node), node.values, strict=False)
                }
                if {"type", "outcome"} <= fields.keys() and fields["type"]:
                    found.add((fields["type"], fields["outcome"]))
    return found


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""

"""What differs between two messages, in words."""

from typing import Any

from bifrost.wire.message import Struct


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Return a line for every place where two messages differ; none when they are equal."""
    if type(expected) is not type(actual) and (isinstance(expected, Struct) or isinstance(actual, Struct)):
        return [f"{path or 'message'}: expected {_shown(expected)}, was {_shown(actual)}"]
    if isinstance(expected, Struct):
        lines = []
        for field in expected.FIELDS:
            inner = f"{path}.{field.name}" if path else field.name
            lines += differences(getattr(expected, field.name), getattr(actual, field.name), inner)
        return lines
    if isinstance(expected, list) and isinstance(actual, list):
        lines = [
            line
            for index, pair in enumerate(zip(expected, actual, strict=False))
            for line in differences(*pair, f"{path}[{index}]")
        ]
        lines += [f"{path}: lacks {_shown(item)}" for item in expected[len(actual) :]]
        return lines + [f"{path}: has besides {_shown(item)}" for item in actual[len(expected) :]]
    return [] if expected == actual else [f"{path}: expected {_shown(expected)}, was {_shown(actual)}"]


def _shown(value: Any) -> str:
    """Show bytes as they are: in a test nothing is secret."""
    return repr(bytes(value)) if isinstance(value, memoryview) else repr(value)

"""Fields of messages, taken from where their objects have them: see slots.pyx."""

from typing import Any, TypeVar

_T = TypeVar("_T")

def copy_struct(struct: _T, changes: dict[str, Any]) -> _T:
    """Make a struct with the same fields, but for some; no garbage collection visits it.

    Args:
        struct: any one.
        changes: new values, by field.
    Raises:
        AttributeError: it has no such field.
        TypeError: it is no struct of a message: its class has more than slots.
    """

"""Places and aliases as they are in the state: see alias_fields.pyx."""

from collections.abc import Callable
from typing import Any, TypeVar

_Place = TypeVar("_Place", bound=tuple[Any, ...])
_Alias = TypeVar("_Alias", bound=tuple[Any, ...])

def read_place(text: str, read_path: Callable[[str], Any], place_type: type[_Place]) -> _Place | None:
    """Return the place in a text; None: there is none.

    Args:
        text: a namespace and a topic, such as `acme:eu/orders`.
        read_path: reads the namespace, and raises what it raises.
        place_type: `Place`.
    """

def read_usual(
    body: dict[str, Any],
    read_path: Callable[[str], Any],
    place_type: type[tuple[Any, ...]],
    alias_type: type[_Alias],
    accesses: dict[Any, Any],
) -> _Alias | None:
    """Return the alias in a record's body; None: another function has to read it, or to refuse it.

    Args:
        body: of a record of the kind `alias`.
        read_path: reads a namespace, and raises what it raises.
        place_type: `Place`.
        alias_type: `Alias`.
        accesses: what may be done with a topic, by the words of the state.
    """

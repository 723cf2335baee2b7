"""The usual ACL of a record's body: see acl_fields.pyx."""

from collections.abc import Callable
from typing import Any, TypeVar

_Binding = TypeVar("_Binding", bound=tuple[Any, ...])

def read_usual(
    body: dict[str, Any],
    binding_type: type[_Binding],
    numbers: Callable[[str, str, str, str], tuple[Any, ...]],
    intern: Callable[[str], str],
    digest: Callable[[bytes], Any],
) -> tuple[_Binding, str] | None:
    """Return an ACL and its ID; None: it is an unusual one, or none.

    Args:
        body: the record's body.
        binding_type: the type of tuple for it.
        numbers: returns, for the names of a resource type, pattern type, operation and permission, these, and what
            stands before and behind the names in the text of the ID; None for both where the ACL cannot exist.
        intern: returns the one object for a text that is in many ACLs.
        digest: SHA-256.
    Raises:
        ValueError: as `numbers`, or a name has no UTF-8.
    """

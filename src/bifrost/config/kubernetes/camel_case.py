"""Converts keys to Kubernetes' camelCase: `passwordFile` where the flat dialect has `password_file`."""

import functools
import re
from collections.abc import Collection, Iterator, Mapping

from pydantic import BaseModel

from bifrost.config.explain import section_at


def to_camel(name: str) -> str:
    """Return a field's name as a key of the second dialect."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def camel_keys(section: type[BaseModel], without: Collection[str] = ()) -> dict[str, str]:
    """Return the field for each key that a section has in the second dialect, except the fields in `without`."""
    return {to_camel(name): name for name in section.model_fields if name not in without}


def reword(text: str, root: type[BaseModel], others: Mapping[str, str]) -> str:
    """Return a message in which the keys have their names of the second dialect.

    Args:
        text: the message of a check, which knows the flat dialect only.
        root: the model, for the names of its fields; one without `_` is the same in both.
        others: keys with different names in the second dialect.
    """
    # Not within a path or a quoted text: those are the operator's own words.
    names = _reworded(root)
    return re.sub(
        r"(?<![\w/.'\"-])[a-z_]+(?![\w/'\"-]|\.\w)",
        lambda found: others.get(found[0], names.get(found[0], found[0])),
        text,
    )


# The schema is made of thousands of texts, and a walk over the whole model takes milliseconds.
@functools.cache
def _reworded(root: type[BaseModel]) -> dict[str, str]:
    """Return the key for each name of a field in a model that is another one in the second dialect."""
    return {name: to_camel(name) for name in _names(root, set()) if "_" in name}


def _names(section: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[str]:
    seen.add(section)
    for name in section.model_fields:
        yield name
        held = section_at(section, (name,))
        if held and held not in seen:
            yield from _names(held, seen)

"""Kubernetes writes keys in camelCase: `passwordFile` where the flat dialect has `password_file`."""

import re
from collections.abc import Collection, Iterator, Mapping

from pydantic import BaseModel

from bifrost.config.explain import section_at


def to_camel(name: str) -> str:
    """Return a field's name as a key of the second dialect."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def camel_keys(section: type[BaseModel], without: Collection[str] = ()) -> dict[str, str]:
    """Return the field for each key that a section has in the second dialect, but for some fields."""
    return {to_camel(name): name for name in section.model_fields if name not in without}


def reword(text: str, root: type[BaseModel], others: Mapping[str, str]) -> str:
    """Return a message with the keys it names as the second dialect has them.

    Args:
        text: what a check said that knows the flat dialect only.
        root: the model, for the names of its fields; one without `_` is the same in both.
        others: what is called otherwise.
    """
    # Not within a path or a quoted text: that is somebody's own.
    names = {name: to_camel(name) for name in _names(root, set()) if "_" in name} | dict(others)
    return re.sub(
        r"(?<![\w/.'\"-])[a-z_]+(?![\w/'\"-]|\.\w)", lambda found: names.get(found[0], found[0]), text
    )


def _names(section: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[str]:
    seen.add(section)
    for name in section.model_fields:
        yield name
        held = section_at(section, (name,))
        if held and held not in seen:
            yield from _names(held, seen)

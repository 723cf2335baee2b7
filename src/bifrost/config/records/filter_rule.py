"""Which records a filter is for: by namespace, topic, principal and direction."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from bifrost.config.section import Section
from bifrost.config.values import NamespacePath, Principal

_PATTERN = re.compile(r"[a-zA-Z0-9._:*-]+")

MAX_PATTERNS = 1_000
"""Most patterns of topics, and most principals, of one rule: each new topic of a client is compared with all."""


class FilterDirection(StrEnum):
    """The way of records."""

    PRODUCE = "produce"
    FETCH = "fetch"


def _check_pattern(pattern: str) -> str:
    if not _PATTERN.fullmatch(pattern):
        raise ValueError(f"{pattern!r} has characters other than those of a topic's name, ':' and '*'")
    return pattern


TopicPattern = Annotated[StrictStr, Field(min_length=1, max_length=249), AfterValidator(_check_pattern)]


class FilterRule(Section):
    """Records that a filter is for: those for which all keys of the rule are true."""

    namespace: NamespacePath | None = None
    """The namespace that has the topic, with those below it, such as `analytics:eu`. The names in `topics` are then
    those that clients of the namespace use. Default: the key is absent, and the rule is for all of the tenant."""

    topics: tuple[TopicPattern, ...] = Field(default=("*",), min_length=1, max_length=MAX_PATTERNS)
    """Names of topics, of which one has to match; `*` in them stands for any characters, also none. A topic of a
    namespace is called `eu:orders` here, as clients of the whole tenant see it. Default `*`, all topics."""

    principals: tuple[Principal, ...] = Field(default=("User:*",), min_length=1, max_length=MAX_PATTERNS)
    """Who sends or reads the records: `User:` and the name by which a client authenticates, `User:*` for everyone.
    Default `User:*`."""

    direction: FilterDirection | None = None
    """`produce`: records on their way to the broker. `fetch`: records on their way to a consumer, of a share group too.
    Default: the key is absent, and the rule is for both, as far as the filter has something to do there."""

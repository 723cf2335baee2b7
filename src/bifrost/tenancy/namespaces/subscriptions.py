"""What members of consumer groups subscribe to by patterns (KIP-848), where topics were moved or are shared. Pure.

A broker evaluates a pattern over physical names, so it does not find a topic by the name under which it was moved in or
is shared. The gateway matches these names, and adds what it finds to the names that the member subscribes to:

    the client says     pattern ^orders.*
    the broker gets     pattern __vt_acme_(?P<bifrost_...>orders.*), and the name __vt_globex_o, shared as orders-g

A member says what it subscribes to when it joins, and later only what has changed. So what each has said is remembered
here, with what the broker was told for it: where that is not what it should be, because topics were moved or a share
has ended, its next heartbeat has it anew. This memory is one process's; `filters/groups/moved_subscriptions.py` asks
the broker about members that it does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bifrost.tenancy.bounded_map import BoundedMap
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.namespaces.relative_regex import matching_names
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.names import TenantNames

MAX_MEMBERS = 5000
"""Members of a namespace that are remembered, 2 MB of memory. A broker is asked again about one that was forgotten."""

MAX_PATTERNS = 1000
"""Patterns for which the topics found are remembered; most groups have one."""

ASKED_FOR_MS = 30_000
"""How long a group is not asked about again: it may have more members than can be remembered."""

Member = tuple[str, str]
"""The virtual ID of a group, and that of its member."""


class Subscription(NamedTuple):
    """What a member has said, and what the broker was told for it."""

    names: tuple[str, ...]
    """The topics that it subscribes to by name."""
    regex: str
    """Its pattern; empty: none."""
    added: frozenset[str] | None = None
    """The topics that were added for the pattern; None: it is not known what the broker has."""
    sent: str | None = None
    """The pattern that the broker has; None: it is not known."""


class Subscriptions:
    """What the members of one namespace's groups subscribe to."""

    __slots__ = ("_asked", "_found", "members")

    def __init__(self) -> None:
        """Begin without any."""
        self.members: BoundedMap[Member, Subscription] = BoundedMap(MAX_MEMBERS)
        self._found: BoundedMap[str, list[str]] = BoundedMap(MAX_PATTERNS)
        self._asked: BoundedMap[str, int] = BoundedMap(MAX_PATTERNS)

    def renew(self) -> None:
        """Forget which topics patterns match: names mean something else now."""
        self._found = BoundedMap(MAX_PATTERNS)

    def topics_for(self, regex: str, names: TenantNames) -> list[str]:
        """Return the moved and shared topics that a pattern matches and a broker does not find by it, by their names.

        Args:
            regex: the pattern; empty: none.
            names: those of the namespace.
        """
        if not regex:
            return []
        found = self._found.get(regex)
        if found is None:
            found = _topics_for(regex, names)
            self._found.put(regex, found)
        return found

    def may_ask(self, group_id: str, now_ms: int) -> bool:
        """Whether a broker may be asked about the members of a group now; then it is not again for ASKED_FOR_MS."""
        until_ms = self._asked.get(group_id)
        if until_ms is not None and now_ms < until_ms:
            return False
        self._asked.put(group_id, now_ms + ASKED_FOR_MS)
        return True


def _topics_for(regex: str, names: TenantNames) -> list[str]:
    # What is still called as its physical name says, such as a topic that is only shared, the broker finds.
    moved = (
        name for physical, name in in_steps(names.moved_topics.items()) if names.plain_topic(name) != physical
    )
    try:
        return matching_names(regex, moved, names.place_of)
    except InvalidRegex:
        return []  # It was taken before, when there were fewer namespaces; joining with it is refused now.

"""The filters of one tenant: which of them apply to a topic, for whom and on which way, and why."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from bifrost.config.records.filter_rule import FilterRule
from bifrost.config.records.record_filter import RecordFilter
from bifrost.config.tiers import SEPARATOR
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.transform_kind import kind_of

EVERYONE = "User:*"
EVERY_RECORD = FilterRule()
"""What a filter without rules is for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a filter applies."""

    filter: RecordFilter
    rule: int | None
    """The first of its rules that matches; None where it has no rules, or none of them matches."""
    applies: bool
    why: str
    """In words, for `bifrost explain`."""


Rules = tuple[tuple[int, tuple[int, ...]], ...]
"""By filter, those of its rules that may match: their places."""


class TenantFilters:
    """The filters of one tenant, in the order of its section."""

    def __init__(self, filters: Sequence[RecordFilter], *, is_dotted: bool = False) -> None:
        """Take the filters; `is_dotted` is the form of the tenant's namespaces (`namespace_encoding`)."""
        self.filters = tuple(filters)
        self._separator = "." if is_dotted else SEPARATOR

    def rules_for(self, principal: str) -> Rules:
        """Return the rules that may match what `User:...` does; none: no filter ever applies.

        Also those about other namespaces than the client's: a topic of one of them may be shared with it later.
        """
        found = []
        for place, one in enumerate(self.filters):
            if kind_of(one.name).is_exempt(one.config, principal):
                continue
            rules = tuple(
                index for index, rule in enumerate(one.rules or (EVERY_RECORD,)) if _is_for(rule, principal)
            )
            if rules:
                found.append((place, rules))
        return tuple(found)

    def applying(self, rules: Rules, names: Collection[str], direction: Direction) -> list[RecordFilter]:
        """Return the filters that apply to a topic, in the order in which records pass them.

        Args:
            rules: see `rules_for`.
            names: what the topic is called in the tenant, by the path from it; a rule is for it if it is for one of
                these.
            direction: the way of the records.
        """
        found = []
        for place, indexes in rules:
            one = self.filters[place]
            own = one.rules or (EVERY_RECORD,)
            if direction in kind_of(one.name).directions and any(
                _is_on(own[index], direction) and any(self._has_topic(own[index], name) for name in names)
                for index in indexes
            ):
                found.append(one)
        return found if direction is Direction.PRODUCE else found[::-1]

    def explain(self, principal: str, topic: str, direction: Direction) -> Iterator[Verdict]:
        """Yield for each filter, in the order of the file, whether it applies to a topic, and why."""
        for one in self.filters:
            yield self._verdict(one, principal, topic, direction)

    def _verdict(self, one: RecordFilter, principal: str, topic: str, direction: Direction) -> Verdict:
        if direction not in kind_of(one.name).directions:
            return Verdict(one, None, False, f"{one.name} does nothing on {direction.value}")
        if kind_of(one.name).is_exempt(one.config, principal):
            return Verdict(one, None, False, f"its config leaves {principal} out")
        if not one.rules:
            return Verdict(one, None, True, "it has no rules: it is for all records of the tenant")
        misfits = []
        for index, rule in enumerate(one.rules):
            misfit = self._misfit(rule, principal, topic, direction)
            if misfit is None:
                return Verdict(one, index, True, f"rules[{index}] matches: {self._told(rule, topic)}")
            misfits.append(f"rules[{index}] {misfit}")
        return Verdict(one, None, False, "; ".join(misfits))

    def _misfit(self, rule: FilterRule, principal: str, topic: str, direction: Direction) -> str | None:
        if not _is_on(rule, direction):
            assert rule.direction is not None
            return f"is for {rule.direction.value}"
        if not _is_for(rule, principal):
            return f"is for {', '.join(rule.principals)}"
        if self._name_in(rule, topic) is None:
            return f"is for namespace {rule.namespace}"
        if not self._has_topic(rule, topic):
            return f"is for topics {', '.join(rule.topics)}"
        return None

    def _told(self, rule: FilterRule, topic: str) -> str:
        name = self._name_in(rule, topic)
        assert name is not None
        pattern = next(one for one in rule.topics if _matches(one, name))
        place = "" if rule.namespace is None else f"namespace {rule.namespace}, "
        return f"{place}topic {pattern}, {', '.join(rule.principals)}"

    def _name_in(self, rule: FilterRule, topic: str) -> str | None:
        """Return what clients of a rule's namespace call a topic; None: it is not there."""
        if rule.namespace is None:
            return topic
        begin = rule.namespace.replace(SEPARATOR, self._separator) + self._separator
        return topic.removeprefix(begin) if topic.startswith(begin) else None

    def _has_topic(self, rule: FilterRule, topic: str) -> bool:
        name = self._name_in(rule, topic)
        return name is not None and any(_matches(pattern, name) for pattern in rule.topics)


def _is_on(rule: FilterRule, direction: Direction) -> bool:
    return rule.direction is None or rule.direction.value == direction.value


def _is_for(rule: FilterRule, principal: str) -> bool:
    return any(one in (EVERYONE, principal) for one in rule.principals)


def _matches(pattern: str, name: str) -> bool:
    """Whether a name is what a pattern says; in a time that does not grow with the stars in it, unlike a regex's."""
    begin, *middle = pattern.split("*")
    if not middle:
        return pattern == name
    end = middle.pop()
    if len(name) < len(begin) + len(end) or not (name.startswith(begin) and name.endswith(end)):
        return False
    at, last = len(begin), len(name) - len(end)
    for piece in middle:
        at = name.find(piece, at, last)
        if at < 0:
            return False
        at += len(piece)
    return True

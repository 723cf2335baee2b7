"""Whether filters of a tenant can work together: none may follow one that seals its records, or put such aside."""

from collections.abc import Iterator, Sequence

from bifrost.config.records.filter_rule import FilterRule
from bifrost.config.records.record_filter import SEALING, RecordFilter
from bifrost.config.tiers import SEPARATOR

_EVERYTHING = FilterRule()


def misplaced(filters: Sequence[RecordFilter], separator: str = SEPARATOR) -> str | None:
    """Return what is wrong with the order of filters; None: nothing. `separator` stands between tiers and topics.

    On their way to the broker records pass a filter behind one that seals when they are sealed, and on their way back
    before they are opened.
    """
    for index, sealing in enumerate(filters):
        if sealing.name not in SEALING:
            continue
        for later in filters[index + 1 :]:
            shared = _shared(sealing, later, separator)
            if shared is None:
                continue
            if later.name in SEALING:
                return f"filters: {sealing.shown_name} and {later.shown_name} both seal records of {shared}"
            return (
                f"filters: {later.shown_name} stands behind {sealing.shown_name}, which seals the records of {shared} "
                "that it has to read: move it before that"
            )
        for other in filters:
            shared = _put_aside(sealing, other, separator)
            if shared is not None:
                return (
                    f"filters: {other.shown_name} would write records to {other.config.quarantine_topic} as they are, "
                    f"and {sealing.shown_name} encrypts those of {shared}: remove quarantine_topic"
                )
    return None


def _put_aside(sealing: RecordFilter, other: RecordFilter, separator: str) -> str | None:
    """Return a pattern of topics whose records must be sealed and would be readable in the topic of quarantine."""
    quarantine = other.config.quarantine_topic
    if quarantine is None:
        return None
    for pattern in patterns_of(sealing, separator):
        # Clients of a namespace have a topic of that name of their own. What this does not see, because `*` stands for
        # namespaces too, is not put aside (filters/records/record_topics.py).
        if any(overlap(one, quarantine) for one in (pattern, pattern.rpartition(separator)[2])):
            return pattern
    return _shared(sealing, other, separator)


def _shared(one: RecordFilter, other: RecordFilter, separator: str) -> str | None:
    """Return a pattern of topics that both are for."""
    others = list(patterns_of(other, separator))
    for pattern in patterns_of(one, separator):
        if any(overlap(pattern, found) for found in others):
            return pattern
    return None


def patterns_of(one: RecordFilter, separator: str) -> Iterator[str]:
    """Yield the patterns of topics that a filter is for, as clients of the whole tenant name them."""
    for rule in one.rules or (_EVERYTHING,):
        begin = "" if rule.namespace is None else rule.namespace.replace(SEPARATOR, separator) + separator
        for topic in rule.topics:
            yield begin + topic


def overlap(one: str, other: str) -> bool:
    """Whether there is a name that two patterns match, in which `*` stands for any characters."""
    # By row: whether what one pattern has up to here and the other up to each column can be the same name.
    row = [True, *(False for _ in other)]
    for column, sign in enumerate(other, 1):
        row[column] = row[column - 1] and sign == "*"
    for own in one:
        before, row = row, [row[0] and own == "*"]
        for column, sign in enumerate(other, 1):
            is_star = own == "*" or sign == "*"
            fits = before[column] or row[column - 1] if is_star else before[column - 1] and own == sign
            row.append(fits)
    return row[-1]

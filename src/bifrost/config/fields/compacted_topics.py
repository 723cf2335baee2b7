"""Whether filters of a tenant fit its compacted topics with virtual partitions, whose records need keys."""

from collections.abc import Sequence

from bifrost.config.fields.virtual_partitions import VirtualPartitions
from bifrost.config.records.encryption_config import SealMode
from bifrost.config.records.filter_order import overlap, patterns_of
from bifrost.config.records.record_filter import SEALING, RecordFilter
from bifrost.config.tiers import SEPARATOR


def unfit_filter(
    filters: Sequence[RecordFilter], rules: Sequence[VirtualPartitions], separator: str = SEPARATOR
) -> str | None:
    """Return which filter would leave records of a compacted topic without keys; None: there is none.

    What a batch that is sealed as a whole shows to brokers has no keys. And the records of a topic of quarantine are
    those that the gateway itself writes there, past its virtual partitions.
    """
    for one in filters:
        if one.name in SEALING and one.config.mode is SealMode.BATCHES:
            for pattern in patterns_of(one, separator):
                if _is_compacted(pattern, rules):
                    return (
                        f"filters: {one.shown_name} seals whole batches of {pattern}, and virtual_partitions has "
                        "compacted: true for such topics, which need keys: use mode: values"
                    )
        quarantine = one.config.quarantine_topic
        if quarantine is not None and (
            _is_compacted(quarantine, rules) or _is_compacted_below(quarantine, rules, separator)
        ):
            return (
                f"filters: virtual_partitions has compacted: true for quarantine_topic {quarantine} of "
                f"{one.shown_name}: name another topic"
            )
    return None


def _is_compacted_below(topic: str, rules: Sequence[VirtualPartitions], separator: str) -> bool:
    """Whether a topic may be a compacted one where clients of a namespace have it.

    Where this does not see it, because `*` in a rule stands for namespaces too, consumers of that topic get an error.
    """
    patterns = (one for rule in rules if rule.compacted for one in rule.topics if separator in one)
    return any(overlap(one.rpartition(separator)[2], topic) for one in patterns)


def _is_compacted(pattern: str, rules: Sequence[VirtualPartitions]) -> bool:
    """Whether one of the topics of a pattern may be a compacted one."""
    for rule in rules:
        if any(overlap(pattern, topic) for topic in rule.topics):
            if rule.compacted:
                return True
            if "*" not in pattern:
                return False  # The first rule that matches a topic is for it.
    return False

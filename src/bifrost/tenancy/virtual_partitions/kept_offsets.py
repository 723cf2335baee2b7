"""How long offsets in offset groups are kept: as long as those of their consumer group, by Kafka's own rules.

A broker deletes offsets `offsets.retention.minutes` after the consumer group has lost its last member; those of a
consumer that is in no group, after their commit. An offset group (offset_groups.py) has no members. So a broker would
take its offsets for the second kind, and delete those of a partition in which nothing happens for a week while the
consumer group is at work. What is done against that:

    by a plain OffsetCommit    has a retention of its own, `RETENTION_MS`: the broker keeps the offset for that long
    by a transaction           cannot have one: a broker counts from the commit. Before it has counted far, the offset
                               group is *touched*: a member joins and leaves it. Then it is a group that has lost its
                               last member, and the broker counts from there, for all offsets it has or will have
    the consumer group         is one with neither members nor offsets. Its offset groups' own offsets, whose commits
      is gone                  are longer ago than the retention, are deleted, as those of a consumer in no group are

No offset is ever written for it, so none can come between a consumer and its own commit.

Source: GroupMetadata.removeExpiredOffsets (2.8 to 3.9), ClassicGroup.offsetExpirationCondition and
OffsetMetadataManager.cleanupExpiredOffsets (from 4.0 on); KIP-211.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp

RETENTION_MS = 365 * 24 * 3_600_000
"""A year after a plain commit: longer than any consumer goes on without one."""

DEFAULT_RETENTION_S = 7 * 24 * 3600
"""Kafka's own `offsets.retention.minutes`, where the brokers do not tell theirs."""

TOUCHES = 8
"""An offset group is touched each eighth of the retention: if gateways are away, seven eighths are left."""

LOOKS, LONGEST_LOOK_S, SHORTEST_LOOK_S = 60, 600, 1
"""There is a look at all groups each sixtieth of the retention, at most each ten minutes, as a broker has its own at
expired offsets (`offsets.retention.check.interval.ms`), and at least each second."""

TOUCHED = "bifrost-offsets"
"""The protocol type of an offset group that was touched. The broker keeps it, and ListGroups tells it."""


class KeptOffset(NamedTuple):
    """One offset of an offset group."""

    topic: str
    partition: int
    stamp: CommitStamp | None
    """None: it has none, as one that was not committed through a gateway."""


class OffsetsJudgement(NamedTuple):
    """What is to be done for an offset group."""

    is_to_touch: bool
    expired: Sequence[KeptOffset]
    """To be deleted."""
    look_again_s: float
    """When its offsets are to be looked at again, in seconds since 1970."""


def look_every_s(retention_s: int) -> float:
    """Return the time between two looks at all groups, in seconds."""
    return max(SHORTEST_LOOK_S, min(LONGEST_LOOK_S, retention_s / LOOKS))


def judge_offsets(
    offsets: Sequence[KeptOffset],
    *,
    has_consumer_group: bool,
    is_touched: bool,
    now_s: float,
    retention_s: int,
) -> OffsetsJudgement:
    """Decide what is done for an offset group.

    Args:
        offsets: all that it has.
        has_consumer_group: whether its consumer group has members or offsets.
        is_touched: whether it was touched before. Then it is again and again, as long as it has offsets that are to be
            kept: the broker does not count from commits any more, not even from new ones.
        now_s: the time, in seconds since 1970.
        retention_s: how long the brokers keep offsets.
    """
    period_s = retention_s / TOUCHES
    stamps = [one.stamp for one in offsets if one.stamp is not None]
    expired = [
        one
        for one in offsets
        if not has_consumer_group and one.stamp is not None and now_s - one.stamp.committed_s >= retention_s
    ]
    ages_s = [now_s - one.committed_s for one in stamps if one.is_transactional]
    is_quiet = has_consumer_group and any(age_s >= period_s for age_s in ages_s)
    is_to_touch = is_quiet or (is_touched and len(expired) < len(offsets))
    waits_s = [period_s]
    if not has_consumer_group:
        waits_s += [one.committed_s + retention_s - now_s for one in stamps]
    elif not is_to_touch:
        waits_s += [period_s - age_s for age_s in ages_s]
    return OffsetsJudgement(is_to_touch, expired, now_s + max(0, min(waits_s)))

"""Where a virtual partition ends, though the offsets of its physical partition go on.

    ... own own | others others others others others others |
                ^ end of the virtual partition              ^ end of the physical one

It ends behind its last record, so that records of others do not count as lag. Where none of the last records is its
own, the index tells where that is (index/). A consumer that runs is moved on all the same, by `least_end`, which
follows the physical end in steps: so what it commits keeps up with what is deleted behind it. Once that was committed,
the partition ends there at the least. Where the index does not reach, it ends at `least_end` in any case: then the end
is found in a part of the log that has a bound, however long ago the last own record was written.
"""

STEP = 8_192
"""The end of a virtual partition is found in less than twice so many offsets: at 1 KiB a record, in 16 MiB."""


def least_end(physical_end: int) -> int:
    """Return the offset at which a virtual partition ends at the least, from where its physical partition ends."""
    return max(0, (physical_end // STEP - 1) * STEP)


def may_be_least_end(offset: int) -> bool:
    """Whether a consumer may have been moved to an offset, if the log reaches so far."""
    return offset > 0 and offset % STEP == 0

"""Virtual partitions: a topic shows V partitions where the brokers have P. The arithmetic, and what marks a batch.

    physical partition = v % P        group = v // P         where V and P are configured
    physical partition = v // R       group = v % R          where a ratio is: V = R * P, for the P that brokers have

A group is all virtual partitions that have the same place in the row of those that share a physical one. A batch of
group g > 0 has `producer_id + (g << 40)` in its header, which the broker keeps and which no compression hides; so whose
a batch is can be read without opening it. What was written before a topic had virtual partitions is of group 0.

Offsets are those of the physical partition. A virtual partition has gaps where records of others are, as a compacted
topic has gaps.
"""

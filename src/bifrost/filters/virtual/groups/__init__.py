"""Virtual partitions in consumer groups of the newer protocol (KIP-848), whose coordinator assigns the partitions.

The coordinator knows the physical partitions alone. A member is shown all virtual partitions of each that it is
assigned, and a physical one counts as its own as long as the member has any of them: so the coordinator gives it to
another member only when none of its virtual ones has a consumer.
"""

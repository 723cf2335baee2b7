"""Virtual partitions in share groups (KIP-932), whose members acquire records of physical partitions.

The coordinator assigns physical partitions, and a member is shown all virtual partitions of each. What it acquires of a
physical partition is divided among these by whose the records are, and what it acknowledges of them goes back as one.
"""

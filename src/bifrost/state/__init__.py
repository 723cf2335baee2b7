"""The gateway's dynamic state: its records, the table that they make, and the decision of a change. No I/O.

What is not obvious here:

* A reader may see version 3 of a record after version 1: compaction has removed version 2 meanwhile. So a version that
  skips some is right, and one that is not newer has lost a race and is ignored.
* A deleted record stays as a record without a body until it is purged. A purge raises the floor: a key that the table
  does not know begins above it, so a version of a key never comes twice.
* A race must be decided before anything is written, by a fence between writers: in a compacted topic the loser, which
  comes later, would survive the winner.
"""

"""The dynamic state of a running gateway: its topic, its reader, and the writer of changes.

What is not obvious here:

* One transactional ID stands for all writers of a state (KIP-98). A writer that gets a new epoch of it fences all
  others and ends their open transactions; then it reads to the end of the log, and only then decides. So no two writers
  ever decide by the same table, and no record of a loser is ever committed.
* The outcome of a commit may be unknown, when the connection breaks before the answer. The next epoch settles it: the
  coordinator gives it only after the transaction has ended, and then the reader has seen the change or never will.
* With several workers each one reads for itself.
"""

"""What the journal and stored batches say, turned into answers by Apache Spark: usage, bills, KEKs in use.

`journal` -> `meter` -> tables -> `bill`, `certify`, `advise`, `pack`. Modules named for a thing (`metering/sums.py`,
`billing/rating.py`, ...) are pure: DataFrame in, DataFrame out. `jobs/` is the thin rest that reads, writes and shows
progress. `census`, `leakscan`, `fsck` and `rekey` read batches from the brokers by themselves (`stored/`). PySpark
comes with the extra `bifrost-kafka[pipeline]`; nothing outside this package imports it, in particular not the gateway.

What is not obvious here:

* `meter` works exactly once without Spark's state: a record that is in the tables is not added again, sums are computed
  again from the tables, and a batch becomes valid by one file (`spark/tables.py`). Its checkpoint only saves time.
* `foreachBatch` gives a session of its own with adaptive execution off, so Spark uses the set number of shuffle
  partitions.
* Spark's decimal division drops digits silently when the quotient would need more than 38: so a large divisor is split
  into two smaller ones (`billing/rating.py`).
* An issued bill is never written again: the bill of the month after the last issued one carries the differences.
  `bill` issues as its last step, after the files are written (`billing/ledger.py`).
* `dropDuplicates` on rows with arrays sorts and moves whole rows, so keys are compared first (`unseen`).
"""

"""What the journal says, turned into answers by Apache Spark: usage, bills, certificates, advice.

`journal` -> `meter` -> tables -> `bill`, `certify`, `advise`. Modules named for a thing (`metering.py`,
`rating.py`, ...) are pure: DataFrame in, DataFrame out. `jobs/` is the thin rest that reads, writes and shows
progress. PySpark comes with the extra `bifrost-kafka[pipeline]`; nothing outside this package imports it, the
gateway least of all.

What is not obvious here:

* `meter` is exactly once without Spark's state: a record that is in the tables is not added again, sums are made anew
  out of the tables, and a batch becomes valid by one file (`pipeline/tables.py`). Its checkpoint only saves reading
  again.
* `foreachBatch` gives a session of its own with adaptive execution off: the number of shuffle partitions is taken as
  it stands.
* Spark's decimal division drops digits silently when the quotient would need more than 38: large divisors are two
  smaller ones (`pipeline/rating.py`).
* An issued bill is never written again: the month after the last issued one carries what differs, and issuing is the
  last thing that `bill` does, behind the files (`pipeline/ledger.py`).
* `dropDuplicates` on rows with arrays sorts and moves all of them, so keys are looked at first (`unseen`).
"""

"""What the journal says, turned into answers by Apache Spark: usage, bills, certificates, advice.

`journal` -> `meter` -> tables -> `bill`, `certify`, `advise`. Modules named for a thing (`metering.py`,
`rating.py`, ...) are pure: DataFrame in, DataFrame out. `jobs/` is the thin rest that reads, writes and shows
progress. PySpark comes with the extra `bifrost-kafka[pipeline]`; nothing outside this package imports it, the
gateway least of all.
"""

"""Routes: one request taken apart for several brokers, and their answers made into one. No I/O.

A listener with a single address shows a whole cluster as one broker, so a request that names partitions of several
leaders has several destinations. `shapes.py` compiles from the schema where topics and partitions stand in a message;
`split.pyx` takes a request apart and puts the answers together without an object for each partition; record data stays
where it is. All names here are physical ones: the session has already replaced those of the tenant.
"""

"""What a tenant's requests make brokers keep: groups, committed offsets, transactional IDs, producers and client IDs.

A broker keeps an entry in its heap for each of them, for hours or days, and has no bound for their number. So their
number is bounded here, for each tenant, by remembering which ones have passed:

    entry_set.pyx     a set of entries, as 64-bit hashes, that forgets what was not used for a day
    kept_entries.pyx  those of a namespace, and the walk over a request that enters what it names
    walks.py          where a request names them, by API and version
    broker_state.py   those of a tenant, with its limits
"""

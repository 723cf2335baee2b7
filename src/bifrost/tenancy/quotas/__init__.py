"""Quotas: which rates apply to a client, by Kafka's entities and order, and what a tenant may set. No I/O.

What is not obvious here:

* Several limits of one key apply to a client at the same time: that of its whole namespace, the one that the operator
  gave, and the one that the tenant set, of its namespace and of each above it. A limit that a tenant sets stands beside
  the operator's and cannot replace it.
* A limit names its bucket: the clients for which it is one budget together. Users that share a default limit have a
  bucket each (KIP-546; Kafka's DefaultQuotaCallback).
"""

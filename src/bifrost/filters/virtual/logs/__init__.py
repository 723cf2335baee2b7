"""Virtual partitions: requests that are answered by what the log of the physical partition has, before they go on.

The broker of the connection is asked where logs begin and end, and what is in them, by requests before the client's
(`AtBroker`). What is looked for, and how far, is decided in tenancy/virtual_partitions/logs.
"""

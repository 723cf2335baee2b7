"""Filters of records: what the gateway does with the records of a tenant on their way."""

"""Filters that decide by ACLs what of a request goes to the broker, and answer for the rest as a broker does.

They are in the plans of clients that ACLs apply to (`Plans.guarded`), before all other filters: they see a request
first and its answer last. What is denied is taken out of the request, and its answers are put into the broker's.
"""

"""Policies of namespaces: what topics and groups may be called, how large topics may be, and their configs. No I/O.

What is not obvious here:

* Policies add up: a request has to keep to the policy of its namespace and to those of all above it, from the
  configuration and from the state. So no policy gives anything that another one, or the tenant's own, has taken.
"""

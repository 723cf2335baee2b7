"""Policies: what tenants may set, and what holds in their namespaces."""

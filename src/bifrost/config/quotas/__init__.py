"""Quotas: what the clients of a tenant may use in a second."""

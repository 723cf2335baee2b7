"""Requests of a tenant that names what is not its own, and the tenant beside it."""

"""Filters about topics: created, deleted, described."""

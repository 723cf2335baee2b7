"""Filters about groups of consumers and their members."""

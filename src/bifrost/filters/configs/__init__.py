"""Filters for requests that describe or change configs of topics, groups and brokers."""

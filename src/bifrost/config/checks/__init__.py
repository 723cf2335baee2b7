"""Checks of a configuration that need more than one field."""

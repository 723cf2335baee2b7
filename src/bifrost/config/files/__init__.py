"""Readers of the configuration files and of the files that they name."""

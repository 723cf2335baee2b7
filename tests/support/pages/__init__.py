"""Docs, examples, terminal output and source files, as tests read them."""

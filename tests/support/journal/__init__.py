"""The journal's records, read and written by tests."""

"""Clients of the tests' own, which send what no library would."""

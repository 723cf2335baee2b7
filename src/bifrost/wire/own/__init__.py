"""Requests of Bifrost's own, whoever sends them: encoded, and their responses decoded. No I/O."""

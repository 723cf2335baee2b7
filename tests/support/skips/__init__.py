"""Tests that are skipped: the parts of a machine that they need, and the list of them at the end of a run."""

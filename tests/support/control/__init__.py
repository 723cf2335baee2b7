"""The admin API in the tests: its process, its application without one, and its client."""

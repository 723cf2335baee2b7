"""Real brokers for the tests."""

"""Kafka's bytes and nothing else: frames, message schemas, error codes."""

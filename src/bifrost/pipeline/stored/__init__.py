"""Stored batches: read from the brokers by executors with their headers, what they say of encryption, and copies."""

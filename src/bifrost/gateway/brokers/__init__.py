"""Connections to brokers: who they are, how the gateway logs in, and its own requests."""

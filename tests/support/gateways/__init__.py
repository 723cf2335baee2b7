"""Gateways that the tests start, and what stands around them."""

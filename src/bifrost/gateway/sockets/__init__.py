"""Sockets and TLS, ports, and bytes that go from one socket to another without Python."""

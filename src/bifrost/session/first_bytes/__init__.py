"""What a connection shows before its first request: a PROXY header, another protocol, TLS. No I/O."""

"""Connections of clients, from the port where they arrive until they end.

What is not obvious here:

* A drained connection is not closed but half closed. Closing a socket with unread bytes makes the kernel send a
  reset, which throws away answers that the client has received and not read. So only the writing side ends, and
  `half_close.py` discards what still arrives until the client closes too. uvloop remembers a protocol's `get_buffer`:
  replacing it takes `set_protocol`.
* When a connection drains, a request that was read and not yet forwarded may be dropped: the client has no answer to
  it. A forwarded request must be answered, or a producer without idempotence writes its records twice.
* A new connection that has to wait is not paused but held back: uvloop starts to read after `connection_made`, even
  if `connection_made` paused reading. The gateway keeps what arrives, at most one read, and then stops reading.
* The gateway peeks at the first bytes of TLS in the socket, to recognise a client that does not speak TLS (MSG_PEEK,
  with SO_RCVLOWAT so that a few bytes do not wake the loop repeatedly). OpenSSL reads the socket itself, so bytes
  that are taken out of it are lost to TLS.
* The PROXY header is read to the exact byte: what follows it must still be in the socket when TLS starts.
"""

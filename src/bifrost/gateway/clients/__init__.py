"""Connections of clients, from the port that they came to until they end.

What is not obvious here:

* A drained connection is not closed but half closed. Closing a socket with unread bytes makes the kernel send a
  reset, which throws away answers that the client has received and not read. So only the writing side ends, and
  `half_close.py` reads into nowhere until the client closes too. uvloop remembers a protocol's `get_buffer`: replacing
  it takes `set_protocol`.
* What was read and not sent on may be dropped when a connection drains: nobody was told that it would be done. What
  was sent on must be answered, or a producer without idempotence writes it twice.
* A new connection that has to wait is not paused but held back: uvloop starts to read after `connection_made`,
  whatever was paused in it. What comes is kept, at most one read, and then reading stops.
* The first bytes of TLS are looked at in the socket (MSG_PEEK, with SO_RCVLOWAT so that few of them do not wake
  anybody again and again), to know a stranger: OpenSSL reads the socket, so what is taken out of it is lost to TLS.
* The PROXY header is read to the byte: what is behind it must still be in the socket when TLS starts.
"""

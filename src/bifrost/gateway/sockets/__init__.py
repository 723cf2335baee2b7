"""Sockets and TLS, ports, and bytes that go from one socket to another without Python.

What is not obvious here:

* A shared port is looked for by binding without SO_REUSEPORT first: with it, Linux gives a port to any process of the
  same user without a word, a second listener of one's own among them.
* Connections are taken from the event loop (`SocketTransport.take`: the descriptor is duplicated, the loop's
  transport aborted): those with TLS before their first byte, all others when they are coupled. The loop then only
  says when a socket is ready; what comes is received where the framer wants it, and no Python object is made for it.
  The loop's TLS would keep 200 KiB of buffers for each connection that was ever busy, and close before a failed
  handshake's alert is out. While the loop has something left to write for a connection, that connection stays with
  it: it works either way.
* A coupled connection has relays for protocols. Once its broker's side is open, both transports call a `FrameRelay`,
  which asks Python only about frames that the session has to see. It writes to the socket itself, past the transport,
  but only while the transport is open and has nothing left to write: a closed transport's descriptor is soon another
  client's. Everything else may still be written by the transport, in order. When a login is renewed, the broker's
  transport gets its own protocol back until it is done.
* A failed TLS handshake is told to nobody before its alert is sent: asyncio and uvloop close first, and a client
  would take it for a network fault and try again. OpenSSL writes the alert itself, as it has the socket.
"""

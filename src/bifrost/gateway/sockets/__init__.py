"""Sockets, TLS and ports, and relays that forward bytes between two sockets without Python.

What is not obvious here:

* To find a port that is in use, the gateway first binds it without SO_REUSEPORT: with that option, Linux silently
  gives the port to any process of the same user, even to a second listener of the same process.
* Clients' connections never belong to the event loop (`accepted_socket.py`); those to brokers are taken from it when
  they are coupled (`SocketTransport.take`: the descriptor is duplicated, the loop's transport aborted). The loop then
  only says when a socket is ready; bytes are received straight into the framer's buffer, without a Python object.
  The loop's TLS would keep 200 KiB of buffers for each connection that was ever busy, and close before a failed
  handshake's alert is sent. While the loop still has bytes to write for a connection, that connection stays with
  the loop: it works either way.
* The protocols of a coupled connection are relays. Once its broker's side is open, both transports call a
  `FrameRelay`, which asks Python only about frames that the session has to see. It writes to the socket itself, past
  the transport, but only while the transport is open and has nothing left to write: a closed transport's descriptor
  is soon another client's. Everything else is written by the transport, in order. While a login is renewed, the
  broker's transport has its own protocol back.
* The gateway reports a failed TLS handshake only after its alert is sent: asyncio and uvloop close first, and a client
  would take that for a network fault and try again. OpenSSL writes the alert itself, as it has the socket.
"""

"""What all requests of a gateway share: lanes, limits of what is in flight and held, and turns. No I/O.

`lane`, `load`, `traffic`, `room`, and `forwarding`, the hot path of a session, are compiled, because every message
passes there. What works only while something waits is in Python: whose turn it is, and who gets room.

What is not obvious here:

* The names that a message gets belong to its lane (`lane_names`), not to the session: sessions share lanes if they use
  the same names. So a client, or one API of it, may get a lane with other names at no cost for each message.
* Whether a message is sent on as it is, `lane` decides alone, on the hot path and for requests that were held. It gives
  a `Reason`, and a message is sent on only for a reason that the code names.
* With a journal a session's lanes are its client's own: they share the tenant's counters and loads, and have a
  `Usage` for one client ID. The engine compares it with each request's ID; a request with another one takes the slow
  path once.
* A connection that comes while others wait for room gets none, even if there is some: it belongs to those that wait,
  whose turn comes one round of the loop later.
"""

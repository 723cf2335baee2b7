"""What all requests of a gateway share: lanes, limits of what is in flight and held, and turns. No I/O.

What is not obvious here:

* With a journal a session's lanes are its client's own: they share the tenant's counters and loads, and have a
  `Usage` that is for one client ID. The engine compares it with each request's, and whoever changes it takes the long
  way once.
* Whoever comes while others wait for room has none, even if there is some: it is theirs, and their turn comes a loop
  turn later.
"""

"""Connections to brokers: which brokers exist, how the gateway logs in, and its own requests.

What is not obvious here:

* A known topic ID of another tenant is looked up all the same, with a random ID in its place, and counts against the
  bound of a look-up. Otherwise a client could tell it from an absent one by the time of the answer (0.4 ms instead of
  0.9), or by a request that is just too long.
* A login at a broker is renewed only when no request is in flight, and the session is held back until it is renewed:
  the login's answers would otherwise stand between those to the client's requests. A broker accepts a late renewal,
  because it checks the time only when a request arrives.
"""

"""Connections to brokers: who they are, how the gateway logs in, and its own requests.

What is not obvious here:

* A foreign topic ID that is known is looked up all the same, by an ID that nobody has in its place, and counts
  against the bound of a look-up: it would otherwise be told from an absent one by the time its answer takes (0.4 ms
  instead of 0.9), or by a request just too long.
* A login at a broker is renewed only when nothing is in flight, and the session is held back until it is: its answers
  would otherwise stand between those to the client's requests. A broker takes a late renewal: it looks at the time
  when a request comes.
"""

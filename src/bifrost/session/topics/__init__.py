"""Lists of a tenant's topics, which a session or the gateway asks a broker for. No I/O.

What is not obvious here:

* An empty page of DescribeTopicPartitions may be a failure: its response has no place for an error but beside a
  topic, and a request for all names none. So a list of topics that has an empty page is given up, and the broker is
  asked for all of them.
* A request that the gateway sends for itself on a client's connection (a page of topics) has an object of its own as
  its exchange, so the engine does not pass the answer on; and whatever comes behind the request that waits for it is
  held, or answers would change places.
"""

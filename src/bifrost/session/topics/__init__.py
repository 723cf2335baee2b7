"""Lists of a tenant's topics, which a session or the gateway asks a broker for. No I/O.

What is not obvious here:

* An empty page of DescribeTopicPartitions may be a failure: its response has a place for errors only beside a topic,
  and a request for all topics names none. So the gateway gives up a list that has an empty page, and asks the broker
  for all topics.
* A request that the gateway sends for itself on a client's connection (a page of topics) has an object of its own as
  its exchange, so the engine does not pass the answer on. All requests after the one that waits for it are held, since
  otherwise answers would come in the wrong order.
"""

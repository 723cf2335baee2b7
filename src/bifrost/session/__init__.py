"""What happens on one connection. No I/O.

What is not obvious here:

* Bytes behind a body end the connection, a request's or a response's, though a broker ignores them in requests. But
  librdkafka 2.16 leaves three behind Metadata v9 and later when it asks for all topics: there they are dropped.
* A handshake on an authenticated connection waits until nothing is in flight, as at a broker, which takes one request
  at a time: so its answers are the last, and a failure's answer is not lost behind others when the connection ends.
* A fetch session of somebody else with epoch 0 or -1 is not an error in Kafka (it only means "close that one"): the
  request goes on without the session.
* ReplicaId 0 or above in a Fetch would let a client act as a follower, which moves the high watermark: it is answered
  as Kafka answers whoever lacks CLUSTER_ACTION.
"""

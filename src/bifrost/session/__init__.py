"""What happens on one connection. No I/O.

What is not obvious here:

* Bytes after the body of a request or response end the connection, though a broker ignores them in requests. But
  librdkafka 2.16 leaves three bytes after Metadata v9 and later when it asks for all topics: those are dropped.
* A handshake on an authenticated connection waits until nothing is in flight, as at a broker, which takes one request
  at a time: so its answers are the last, and a failure's answer is not lost behind others when the connection ends.
* In Kafka it is no error when a Fetch names another client's fetch session with epoch 0 or -1 (it only means "close
  that one"): the request goes on without the session.
* ReplicaId 0 or above in a Fetch would let a client act as a follower, which moves the high watermark: the client gets
  the answer that Kafka gives without CLUSTER_ACTION.
"""

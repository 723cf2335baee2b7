"""Kafka's bytes and nothing else: frames, message schemas, error codes.

What is not obvious here:

* Messages are not tracked by the garbage collector (`untrack`), nor is what a gateway begins with (`gc.freeze`): a
  full collection looks at everything and kept the event loop for 40 ms. Messages are trees; do not make a cycle
  through one.
* A large message is freed in steps as well (`release`): to drop a hundred thousand structs at once takes 7 ms.
* What is counted is counted after it was rewritten, in a walk of its own: what turns out to need decoding would else
  be counted twice.
* A large frame goes on before it is whole, if nothing that comes can change it (`engine_stream.pxi`, from 256 KiB
  on): when what is left is the records of its last partition and empty tagged fields, which must then be zeros, or
  the connection ends. The first 4 KiB or more decide, once. Until the rest has come the client is read whatever else
  is full, a drain waits for it, and a client that stalls is idle. With a journal frames are held until they are
  whole, as usage is counted in them; so is what has several partitions still to come.
* Small frames are views of a chunk that is reused. Whoever keeps one makes `bytes` of it; the engine does so by
  itself unless the frame is a `bytes`.
* AddPartitionsToTxn ends at v3 for clients; from v4 on it is a request between brokers.
* Unknown tagged fields are left out, in both directions: receivers must ignore them, and nobody knows what they would
  tell.
"""

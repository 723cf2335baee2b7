"""Kafka's bytes and nothing else: frames, message schemas, error codes.

The compiled modules here, `journal/usage.pyx` and those of `forwarding/` are called the engine. They import
each other by `cimport`, in the same direction as Python's modules: down. What is small and called for every field is
inline, in `.pxd` files; a walk over a frame stands in one module.

What is not obvious here:

* Messages are not tracked by the garbage collector (`untrack`), nor are the objects that exist when a gateway starts
  (`gc.freeze`): a full collection visits all objects and blocked the event loop for 40 ms. Messages are trees; do not
  make a cycle through one.
* A large message is also freed in steps (`release`): freeing a hundred thousand structs at once takes 7 ms.
* The engine counts a message after rewriting it, in a separate walk: otherwise a message that turns out to need
  decoding would be counted twice.
* A large frame is forwarded before it is complete, if its rest needs no change (`rewriting.pyx`, from 256 KiB on):
  when the rest is the records of its last partition and empty tagged fields, which must then be zeros, or the
  connection is closed. The first 4 KiB or more decide, once. Until the rest has arrived the client is read whatever
  else is full, a drain waits for it, and a client that stalls is idle. With a journal, frames are held until they are
  complete, because usage is counted in them; so are frames with several partitions still to come.
* Small frames are views of a chunk that is reused. Code that keeps one must copy it to `bytes`; the engine does so by
  itself unless the frame is a `bytes`.
* AddPartitionsToTxn ends at v3 for clients; from v4 on it is a request between brokers.
* Unknown tagged fields are left out, in both directions: receivers must ignore them, and the gateway does not know
  whether they contain names.
"""

"""The gateway's treatment of one message. No I/O.

What is not obvious here:

* Loops over the items of a message use `in_steps`, in filters and in all other code that works on a frame: there the
  work may pause. Between two steps other sessions of the tenant run, so the state that they share must be consistent
  there. A test finds loops that forget it.
* The gateway offers Produce from v0 where the broker does, because old librdkafka otherwise turns compression off
  (KAFKA-18659).
* Some fields need no decoding as long as they have their usual value (`SLOT_USUAL`): an error of a topic, operations
  that a client asked for, a null list that means all. A filter that changes such a field has to be named in
  `filters/build.py`; otherwise the frame passes without the filter.
"""

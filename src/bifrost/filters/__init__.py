"""What happens to one message. No I/O.

What is not obvious here:

* Loops over what a message has many of say `in_steps`, in filters and wherever else a frame is worked on: that is
  where work may pause. Between two steps other sessions of the tenant run, so nothing half done may stand in what
  they share. A test finds loops that forget it.
* Produce is presented from v0 where the broker does, or old librdkafka turns compression off (KAFKA-18659).
* A field may be fine in place as long as it is as usual (`SLOT_USUAL`): an error of a topic, operations that somebody
  asked for, a null list that means all. What a filter does to such a field has to be named in `filters/build.py`;
  else the frame passes without it.
"""

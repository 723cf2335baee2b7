"""The processes in which transforms of the operator's own run: in each gateway process one for each filter of a tenant.

What is not obvious here:

* A batch that was begun goes on to its end or its time limit, also when its message waits no more: the stream to the
  process is in the middle of it.
* A process that crashes on a batch is not given that batch again by the gateway; the client gets an error for it.
"""

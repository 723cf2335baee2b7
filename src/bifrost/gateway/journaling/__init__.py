"""The journal of a running gateway: its topic, its writer, and when it is written.

What is not obvious here:

* A worker notes for the others up to when topics' sizes are in the journal only once a snapshot is written, not when
  it is taken. So the worker that goes on after a death covers the rest, and no time is in the journal twice.
* Records that the journal's writer has taken out of the buffer still fill it until the brokers have them: ask `size`,
  not `len`.
"""

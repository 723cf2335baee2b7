"""The journal of a running gateway: its topic, its writer, and when it is written.

What is not obvious here:

* A worker notes for the others up to when the journal has looked at topics only once that look is written, not when
  it looked. So the worker that goes on after a death covers the rest, and no time is in the journal twice.
* Records that the journal's writer has taken out of the buffer still fill it until the brokers have them: ask `size`,
  not `len`.
"""

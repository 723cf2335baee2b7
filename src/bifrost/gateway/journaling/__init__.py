"""The journal of a running gateway: its topic, its writer, and when it is written.

What is not obvious here:

* Up to when the journal has looked is noted for the other workers once it is written, not when it was looked at: the
  one that goes on after a death covers the rest, and who reads takes no time twice.
* What the journal's writer has taken out of the buffer still fills it until the brokers have it: ask `size`, not
  `len`.
"""

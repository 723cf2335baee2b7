"""Transforms that users write: a function over Arrow record batches, and the process in which the gateway runs it.

What is not obvious here:

* `parts.py` is all that the gateway imports of this room. Arrow is loaded in the child process alone, and by the
  commands and jobs that run a transform themselves.
* The child gets the columns of a batch as they are in memory, in Arrow's layout; so nothing is encoded on the way.
"""

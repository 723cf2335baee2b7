"""Where transforms of records get what they need from outside, such as keys: each source does its own I/O.

What is not obvious here:

* A source is made when the filters of a tenant first need it, and its module is loaded then (`source_names.py`). After
  a reload that needs it no more it is closed.
* A message waits for all that its batches need at once, and no longer than `max_record_wait_ms` in all.
"""

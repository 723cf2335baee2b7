"""Masking: fields of JSON values that a consumer must not see.

What is not obvious here:

* Values are changed in place: what is not masked keeps its bytes, its order and its numbers to the last digit. So a
  value is never read into objects and written anew.
* The reader is strict (RFC 8259), because what it takes for a value another reader may take for two. What it does not
  accept does not pass.
"""

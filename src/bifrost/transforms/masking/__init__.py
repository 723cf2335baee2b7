"""Fields of JSON and Avro values: where paths and tags lead to them, and what stands in place of masked ones.

What is not obvious here:

* Values are changed in place: what is not masked keeps its bytes, its order and its numbers to the last digit. So a
  value is never read into objects and written anew.
* The reader is strict (RFC 8259), because what it takes for a value another reader may take for two. What it does not
  accept does not pass.
* In Avro a schema says where fields are, so a program is made for each schema; the same type at two places of it has
  two nodes. Sealed fields (`encryption/field_sealing.py`) are found by the same maskers.
"""

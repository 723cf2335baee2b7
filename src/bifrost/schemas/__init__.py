"""Schemas of records: which one a record names, whether it is its topic's, and whether its bytes read under it. No I/O.

What is not obvious here:

* Records come from clients, so each reader is bounded: in bytes, in values, in depth. Avro is checked by compiled code
  that makes no objects (`avro_check.pyx`); its library alone would make gigabytes of a megabyte of nested arrays.
* The readers' libraries are those of the extra `schemas`. They are loaded with the first schema of their kind.
"""

"""The third dialect: the flat file of a partition remapper (`listen`, `kafka`, `mapping`, `metrics`, `logging`).

What is not obvious here:

* The sections are a model of their own, in `sections.py`: a mistake is explained in the words of this file, and the
  JSON Schema is made from it. What is valid is then translated into the terms of the flat dialect.
* What the gateway does differently is a notice, which `bifrost check` prints and `bifrost run` logs; what it cannot do
  is refused.
"""

"""Configs by namespace: the values that topics without a value of their own take from their namespace. No I/O.

A broker knows no default of a namespace, so each topic has it as a config of its own, and the question is which of
them the topic inherits. Brokers answer most of it, and they outlive any gateway: a value that no namespace above a
topic has, or had, is the topic's own. Only where a client sets just that value this is remembered, in the state.

What is not obvious here:

* A namespace's record also has the values that it had before. A topic that was not changed yet, or that was created by
  a gateway which did not know of the change yet, is still seen to inherit.
"""

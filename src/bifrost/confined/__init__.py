"""Processes that work for the gateway within bounds: what these are, and how both sides talk.

What is not obvious here:

* The gateway starts such a process for what may take long, or much memory, or crash: code of the operator's, and
  libraries that read what clients send. The programs are in the rooms of their work.
"""

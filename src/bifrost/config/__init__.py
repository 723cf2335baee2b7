"""The configuration file as one typed model, with errors that name file and line.

What is not obvious here:

* A password of the gateway's own is a `KeptSecret`, one of a client's a `Secret`: only the first can be read back.
"""

"""Clients of every library in processes that can be killed at any moment.

`mortal_client.py` starts and kills them; each library has a program here that writes or reads for ever (`*_life.py`),
those of Go and Node.js have it beside their other operations.
"""

"""Items of a request that no broker is asked about: they are taken out, and answered beside the broker's answer.

items.py          the taking out and the putting back, for any API
fetches.py        what that does to a fetch session (KIP-227)
broker_state.py   what a tenant has no room for any more in the brokers' memory
"""

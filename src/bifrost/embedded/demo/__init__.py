"""The demo: two tenants on one real Kafka, each with a topic `orders`, neither aware of the other.

`run.py` starts Kafka, the gateway and the tenants and stops them; `tenant.py` produces and consumes as an
ordinary client would; `ledger.py` proves that nothing crossed; `observer.py` looks at the broker past the
gateway; `screen.py` and `plain.py` show it, in a terminal and without one; `files.py` writes what they need.
"""

"""The admin HTTP API: operators read and change by it what the gateways share. A process of its own serves it.

What is not obvious here:

* No decision is made here: what may be changed, and into which records, the pure modules of `tenancy/` say, so a change
  that comes by Kafka's own APIs ends in the same records. This room has the HTTP: who asks, paths, documents, errors.
* It imports no other program. What it needs of Kafka it gets as a `Backend`, which the command line makes.
* Its libraries are an extra of the package, `control`; no process that carries clients imports them.
"""

"""Quotas while requests pass: budgets, what a client is charged to, and who waits until a debt is paid. No I/O.

What is not obvious here:

* A budget is one number, the time at which all that was charged to it is paid for. So it needs no timer, and processes
  that map the same memory have one budget together.
* A request is charged to every budget of its client at once, that of its tenant, of its namespaces and of its user or
  client ID; the one with the deepest debt says how long the client waits.
* A client is looked up once, by its first request; the engine compares the client ID of each further one.
* The size of an answer is not known before it comes. A Fetch request is charged what the client's answers had in the
  mean, and its answer the rest, so that connections that wait do not all go on at once.
"""

"""The commands; errors become exit codes here and nowhere else.

What is not obvious here:

* Whatever a gateway's process imports stays in its memory, so `cli/main.py` reads a plain `bifrost run` by itself,
  and `tests/kafka/operations/test_memory.py` names what must not come back. An import of typer, prometheus_client or
  importlib.resources on the way to `gateway.run` is 1 to 5 MiB for every worker.
"""

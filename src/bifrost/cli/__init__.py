"""The commands; errors become exit codes here and nowhere else.

What is not obvious here:

* Everything that a gateway's process imports stays in its memory, so `cli/main.py` reads a plain `bifrost run` by
  itself, and `tests/kafka/operations/test_memory.py` names the modules that must not be imported. An import of typer,
  prometheus_client or importlib.resources on the way to `gateway.run` costs 1 to 5 MiB in every worker.
"""

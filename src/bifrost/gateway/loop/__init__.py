"""The event loop: what escapes it, how long its turns take, and work that is done now and then.

What is not obvious here:

* A protocol factory must not raise: uvloop never polls its listening socket again. It makes a `Threshold`, behind
  which everything may fail (`gateway/loop/loop_guard.py`).
"""

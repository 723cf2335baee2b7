"""The event loop: what escapes it, how long its turns take, and work that is done now and then.

What is not obvious here:

* A protocol factory must not raise: uvloop would never poll its listening socket again. It makes a `Threshold`, which
  catches all later errors (`gateway/loop/loop_guard.py`).
"""

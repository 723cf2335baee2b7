"""The event loop: what escapes it, how long its turns take, and work that is done now and then.

What is not obvious here:

* No exception may leave what accepts connections: uvloop would never poll its listening socket again
  (`gateway/loop/loop_guard.py`).
"""

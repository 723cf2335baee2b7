"""Requests that a session answers itself, divides, or lets its filters send to the broker beforehand. No I/O."""

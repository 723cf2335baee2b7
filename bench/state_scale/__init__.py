"""`make bench-state`: a large state, what a gateway needs to start with it, and what its decisions cost."""

"""What all requests of a gateway share: lanes, limits of what is in flight and held, and turns. No I/O."""

"""`make hostile`: a well-behaved tenant, and beside it an attacker who does everything that might disturb it."""

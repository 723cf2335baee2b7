"""Keys that seal and open in tests, and what a broker or an attacker does with sealed batches."""

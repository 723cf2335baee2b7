"""What no single field of a configuration shows."""

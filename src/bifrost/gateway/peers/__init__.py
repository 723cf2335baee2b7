"""What a process has in common with the other workers of its gateway, and what it has alone."""

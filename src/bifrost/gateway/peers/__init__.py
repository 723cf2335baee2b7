"""What a process shares with the other workers of its gateway, or has alone as the only process."""

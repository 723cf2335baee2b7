"""What happens on one connection. No I/O."""

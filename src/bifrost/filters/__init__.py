"""What happens to one message. No I/O."""

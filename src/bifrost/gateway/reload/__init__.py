"""Changes the configuration of a running gateway."""

"""What the API knows of topics and groups at the physical clusters."""

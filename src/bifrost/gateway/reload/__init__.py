"""From one configuration to the next, while the gateway runs."""

"""What is looked for in the log of a physical partition, and what is remembered of what was read."""

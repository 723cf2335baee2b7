"""What the commands of the pipeline share, and those of its jobs over stored records."""

"""Virtual partitions: Fetches that are answered with what other connections have fetched."""

"""What the commands around the admin API share: the backend of `bifrost control`, and its clients."""

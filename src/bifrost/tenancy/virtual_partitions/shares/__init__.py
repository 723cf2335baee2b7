"""Share groups (KIP-932) of topics with virtual partitions: their sessions, and what their members acquire."""

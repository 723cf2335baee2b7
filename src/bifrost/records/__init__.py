"""Record batches: what a broker stores and the gateway otherwise passes on unread."""

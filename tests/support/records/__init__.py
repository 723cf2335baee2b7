"""Batches of records as the codec sees them, and their random content."""

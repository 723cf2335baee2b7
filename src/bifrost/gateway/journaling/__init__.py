"""The journal of a running gateway: its topic, its writer, and when it is written."""

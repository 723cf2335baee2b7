"""The asyncio shell: listeners, connections, backpressure."""

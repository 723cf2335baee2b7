"""What the gateway costs, beside a direct connection and an L4 relay: `make bench`. See docs/performance.md."""

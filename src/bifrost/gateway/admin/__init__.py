"""The operator's HTTP port and the metrics."""

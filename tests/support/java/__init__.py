"""Programs of Kafka's own in Java: tools, Streams, Connect."""

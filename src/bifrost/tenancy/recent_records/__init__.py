"""What brokers have answered of late about the physical partitions that several connections read, within bounds."""

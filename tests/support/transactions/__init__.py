"""A model of transactions on virtual partitions that share one physical: a broker, gateways and a producer."""
